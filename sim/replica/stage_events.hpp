#pragma once
// The timeline of a split's iteration in closed form, as Chrome trace events: a process per stage.
#include "sim/replay/trace.hpp"
#include "sim/replica/iteration.hpp"

namespace lockstep::sim::replica {

/// Passes of micro-batches, exchange of gradients and update of the first `stages` stages, in one piece.
void write_stage_events(const SplitModel& model, double slowest, int stages, const TraceSink& sink);

}  // namespace lockstep::sim::replica
