// Replaces SimGrid's module and the replay by fibers in the page. A question that needs them gets an error that says so.
// All other questions are answered by the same source code as in the commands.
#include "engine/base/json.hpp"
#include "sim/replay/simgrid_module.hpp"

namespace lockstep::sim {

inline namespace replay {
namespace {

[[noreturn]] void refuse_messages() {
  throw InputError(
      "fidelity message simulates messages with SimGrid, which this build does not have; allowed: fast, analytic");
}

}  // namespace

void set_flow_updates(FlowUpdates) {}

Replay replay_messages(const Program&, const Cluster&, const Jitter&, const ReplayOptions&) {
  refuse_messages();
}
std::vector<Replay> replay_messages_of_jobs(const std::vector<JobToReplay>&, const std::vector<BackgroundFlow>&,
                                            const ReplayOptions&) {
  refuse_messages();
}

std::unique_ptr<ActorRuntime> simgrid_runtime(const Cluster&) {
  refuse_messages();
}

std::vector<ClockedRun> run_on_clock(const ClockedTrainings&) {
  throw InputError("trainings that fail are simulated with SimGrid, which this build does not have");
}

std::unique_ptr<ActorRuntime> flow_runtime(const Cluster&, int) {
  throw InputError(
      "workers that train at their own pace are simulated one by one, for which WebAssembly has no stacks; allowed: "
      "synchronous training here, or this job on the command line");
}

}  // namespace replay
}  // namespace lockstep::sim
