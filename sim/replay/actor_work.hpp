#pragma once
// Prepares the work of each rank and each stream of a program for its actor in a replay by messages.
#include <cstdint>
#include <vector>

#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// One end of a transfer, as its rank sees it.
struct Op {
  std::int32_t phase;
  std::int32_t peer;
  std::int64_t bytes;
  bool is_send;
  bool reduces;
};

/// The transfers of every rank in a plan, phase by phase. All ranks share one array, because millions of messages are
/// read from it.
class RankOps {
 public:
  explicit RankOps(const Plan& plan);
  const Op* begin(int rank) const { return ops_.data() + first_[static_cast<std::size_t>(rank)]; }
  const Op* end(int rank) const { return ops_.data() + first_[static_cast<std::size_t>(rank) + 1]; }
  int rounds(int phase) const { return rounds_[static_cast<std::size_t>(phase)]; }

 private:
  std::vector<std::size_t> first_;  // by rank
  std::vector<Op> ops_;
  std::vector<int> rounds_;  // by phase
};

// A stream waits for another stream of its GPU by counting tokens. Once B has taken n tokens of A, the n-th work of A
// for which B ever waits has ended. All GPUs have the same works that give tokens, and the same receivers.

struct Wait {
  int from_stream;
  int tokens;    ///< total that must have been taken
  bool is_copy;  ///< the awaited work brings input
};

struct StreamWork {
  int work;
  std::vector<Wait> waits;
  std::vector<int> signals;  ///< streams that get a token when the work ends
};

/// Lists the works of every stream in their order.
std::vector<std::vector<StreamWork>> works_by_stream(const Program& program);

}  // namespace lockstep::sim::replay
