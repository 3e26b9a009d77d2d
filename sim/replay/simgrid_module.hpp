#pragma once
// Loads SimGrid when a question needs it. SimGrid and the libraries that it links take half of a short command's time
// to load, and most questions need none of them. So sim/messages is a module, in a file next to the programs.
#include <memory>
#include <vector>

#include "sim/replay/actor_runtime.hpp"
#include "sim/replay/failure_clock.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::replay {

/// Which flows' rates SimGrid computes again when flows begin or end.
///
///   all      All flows, each time. The rates are always right.
///   changed  The flows that the change affects (SimGrid's "Lazy"). This is several times faster if many flows begin
///            and end at different times. It can be wrong: SimGrid 3.32 searches from the first link of a new flow's
///            route, and skips the search if that link has already changed at the same moment. If two flows begin at
///            once on one first link, the other links of the second flow therefore keep their old shares. They may then
///            carry twice their bandwidth. The rates are right if flows with the same first link never overlap, and
///            none begins when another ends. Routes begin at the sender's own link, so both hold if every GPU sends one
///            message at a time and every message has a latency.
enum class FlowUpdates { all, changed };
/// Applies to the engine that this process starts later; default: all. Throws std::logic_error if it has started.
void set_flow_updates(FlowUpdates updates);

/// The module's functions. Each does what the function of the same name in this room promises.
struct SimgridFunctions {
  void (*set_flow_updates)(FlowUpdates);
  std::vector<Replay> (*replay_messages_of_jobs)(const std::vector<JobToReplay>&, const std::vector<BackgroundFlow>&,
                                                 const ReplayOptions&);
  std::unique_ptr<ActorRuntime> (*simgrid_runtime)(const Cluster&);
  std::vector<ClockedRun> (*run_on_clock)(const ClockedTrainings&);
};

/// The module's file, and the functions that it exports: `const char* VERSION()`, which must return the program's
/// version_line(), and `const SimgridFunctions* FUNCTIONS()`.
inline constexpr const char *kSimgridModule = "lockstep_simgrid.so", *kSimgridVersion = "lockstep_simgrid_version",
                            *kSimgridFunctions = "lockstep_simgrid_functions";

}  // namespace lockstep::sim::replay
