#pragma once
// Writes the timeline of a split job's iteration as Chrome trace events. Each traced GPU is a process, with its passes
// and with the exchange and update that follow, as in the closed form.
#include <vector>

#include "sim/replay/trace.hpp"
#include "sim/replica/iteration.hpp"

namespace lockstep::sim::point {

/// Writes one process per GPU in `gpus`. All ranks of a pipeline stage have the same timeline. `slowest`: factor on
/// compute times (expected_slowest()).
void write_split_trace(const SplitModel& model, double slowest, const std::vector<int>& gpus, const TraceSink& sink);

}  // namespace lockstep::sim::point
