#pragma once
// Memory shared by things that are not in use at the same time.
#include <cstdint>
#include <vector>

namespace lockstep::model {

/// A piece of memory used in [begin, end) of a cycle; end may lie beyond the cycle's end and then means its start.
struct Use {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size;  ///< in whatever the offsets shall be in
  std::int64_t offset = 0;
};

/// Sets the offsets: the largest first, each at the lowest offset at which it meets none that is in use at the same
/// time. Returns the size of the whole.
std::int64_t lay_out(std::vector<Use>& uses, std::int64_t cycle);

}  // namespace lockstep::model
