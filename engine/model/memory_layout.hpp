#pragma once
// Places buffers in shared memory if they are not in use at the same time.
#include <cstdint>
#include <vector>

namespace lockstep::model {

/// A buffer used in [begin, end) of a cycle. An end beyond the cycle wraps around to its start.
struct Use {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size;  ///< in the unit of the offsets
  std::int64_t offset = 0;
};

/// Sets the offsets. Places the largest buffer first, each at the lowest offset that is free during its use. Returns
/// the total size.
std::int64_t lay_out(std::vector<Use>& uses, std::int64_t cycle);

}  // namespace lockstep::model
