#include "sim/replay/simgrid_module.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "engine/base/version.hpp"

namespace lockstep::sim::replay {
namespace {

// The loader seeks the module where the program's run path says. It stays loaded until the process ends.
const SimgridFunctions& load_functions() {
  void* const module = dlopen(kSimgridModule, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    throw std::runtime_error(std::string("SimGrid cannot be loaded: ") + dlerror() +
                             "; it belongs beside the programs");
  const auto version_of = reinterpret_cast<const char* (*)()>(dlsym(module, kSimgridVersion));
  const auto functions = reinterpret_cast<const SimgridFunctions* (*)()>(dlsym(module, kSimgridFunctions));
  if (version_of == nullptr || functions == nullptr)
    throw std::runtime_error(std::string(kSimgridModule) + " is no module of Lockstep");
  if (version_line() != version_of())
    throw std::runtime_error(std::string(kSimgridModule) + " is of " + version_of() + ", and this program of " +
                             version_line() + "; build or install both");
  return *functions();
}

const SimgridFunctions& simgrid() {
  static const SimgridFunctions& functions = load_functions();
  return functions;
}

}  // namespace

void set_flow_updates(FlowUpdates updates) {
  simgrid().set_flow_updates(updates);
}

std::vector<Replay> replay_messages_of_jobs(const std::vector<JobToReplay>& jobs,
                                            const std::vector<BackgroundFlow>& background,
                                            const ReplayOptions& options) {
  return simgrid().replay_messages_of_jobs(jobs, background, options);
}

Replay replay_messages(const Program& program, const Cluster& cluster, const Jitter& jitter,
                       const ReplayOptions& options) {
  return replay_messages_of_jobs({{&program, &cluster, &jitter, 0}}, {}, options).front();
}

std::unique_ptr<ActorRuntime> simgrid_runtime(const Cluster& cluster) {
  return simgrid().simgrid_runtime(cluster);
}

std::vector<ClockedRun> run_on_clock(const ClockedTrainings& trainings) {
  return simgrid().run_on_clock(trainings);
}

}  // namespace lockstep::sim::replay
