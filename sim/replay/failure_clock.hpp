#pragma once
// Simulates a training with failures on SimGrid's clock, event by event. The training's actor runs on a host. A failure
// or the loss of spot nodes turns the host off, which kills the actor with all progress since the last checkpoint.
// Nodes are repaired, and spares are a semaphore. It is the Monte Carlo simulation of the closed form in sim/failures.
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
