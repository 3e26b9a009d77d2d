#pragma once
// A program's work by stream, and what each piece waits for, for a replay by flows.
#include <vector>

#include "sim/schedule/program.hpp"

namespace lockstep::sim {
inline namespace replay {

/// What a work waits for on another stream of its GPU: that so many of the stream's works have ended.
struct Need {
  int stream;
  int ended;
  bool is_copy;  ///< the awaited work brings input
};
struct Enqueued {
  int work;
  std::vector<Need> needs;
};

/// The works of every stream, in their order.
std::vector<std::vector<Enqueued>> enqueued_by_stream(const Program& program);

}  // namespace replay
}  // namespace lockstep::sim
