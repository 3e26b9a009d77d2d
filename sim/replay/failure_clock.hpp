#pragma once
// A failing training on SimGrid's clock, event by event: a host that the training's actor runs on and that is turned off by
// a failure or by the loss of spot nodes, which kills the actor and all that it has not written to a checkpoint; nodes in
// repair; spares as a semaphore. What sim/failures says in closed form, as a Monte Carlo.
#include <cstdint>
#include <vector>

#include "sim/failures/availability.hpp"
#include "sim/failures/goodput.hpp"

namespace lockstep::sim::replay {

struct ClockedTrainings {
  FailureProcess process;
  const Availability* trace = nullptr;  ///< of spot nodes; run r begins at r / runs of it. None: nodes are always there
  int nodes = 1;                        ///< that the training wants of the trace
  double useful_s = 0;                  ///< work of a run
  int runs = 1;
  std::uint64_t seed = 0;
};

struct ClockedRun {
  double wall_s = 0;
  int failures = 0;  ///< of hardware
  int losses = 0;    ///< of spot nodes
};

/// All runs side by side on one clock, each with failures of its own. Starts SimGrid: once a process. A run that a trace
/// never gives the nodes for has an infinite wall time; one that its holdings are too short for never ends.
std::vector<ClockedRun> run_on_clock(const ClockedTrainings& trainings);

}  // namespace lockstep::sim::replay
