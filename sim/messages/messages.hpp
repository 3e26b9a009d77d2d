#pragma once
// Everything that runs on SimGrid: messages one by one, actors, and trainings that fail. The programs load it as a
// module, and call it by the functions of sim/replay/simgrid_module.hpp that have the same meaning.
#include <memory>
#include <vector>

#include "sim/replay/actor_runtime.hpp"
#include "sim/replay/failure_clock.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::messages {

/// Implements replay_messages_of_jobs().
std::vector<Replay> simulate_messages(const std::vector<JobToReplay>& jobs,
                                      const std::vector<BackgroundFlow>& background, const ReplayOptions& options);
/// Implements simgrid_runtime().
std::unique_ptr<ActorRuntime> make_simgrid_runtime(const Cluster& cluster);
/// Implements run_on_clock().
std::vector<ClockedRun> simulate_trainings(const ClockedTrainings& trainings);

}  // namespace lockstep::sim::messages
