#pragma once
// Lists a program's work by stream, with the conditions for which each piece waits, for a replay by flows.
#include <vector>

#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// A condition for a work to start: `ended` works of another stream of its GPU must have ended.
struct Need {
  int stream;
  int ended;
  bool is_copy;  ///< the awaited work brings input
};
struct Enqueued {
  int work;
  std::vector<Need> needs;  ///< conditions on input come last
};

/// The works of every stream, in their order.
std::vector<std::vector<Enqueued>> enqueued_by_stream(const Program& program);

/// True if a GPU's streams share its compute.
bool computes_on_several_streams(const Program& program);

/// Lists, for each stream, the streams that may continue when one of its works ends, itself included, the last first. A
/// program of parameter servers has a stream for every tensor.
std::vector<std::vector<int>> streams_after(const std::vector<std::vector<Enqueued>>& works);

}  // namespace lockstep::sim::replay
