#pragma once
// Simulates a training with failures on SimGrid's clock, event by event. The training's actor runs on a host. A failure
// or the loss of spot nodes turns the host off, which kills the actor with all progress since the last checkpoint.
// Nodes are repaired, and a semaphore counts spares. This is the Monte Carlo simulation of the closed form in
// sim/failures.
#include <cstdint>
#include <vector>

#include "sim/failures/availability.hpp"
#include "sim/failures/goodput.hpp"

namespace lockstep::sim::replay {

struct ClockedTrainings {
  FailureProcess process;
  const Availability* trace = nullptr;  ///< of spot nodes; run r starts at fraction r / runs. None: always available
  int nodes = 1;                        ///< nodes that the training needs from the trace
  double useful_s = 0;                  ///< work of one run
  int runs = 1;
  std::uint64_t seed = 0;
};

struct ClockedRun {
  double wall_s = 0;
  int failures = 0;  ///< hardware failures
  int losses = 0;    ///< losses of spot nodes
};

/// Simulates all runs concurrently on one clock, each with failures of its own. Starts SimGrid, so call it once per
/// process. If the trace never provides the nodes of a run, its wall time is infinite. If the periods with all nodes
/// are too short for progress, the run never ends.
std::vector<ClockedRun> run_on_clock(const ClockedTrainings& trainings);

}  // namespace lockstep::sim::replay
