#pragma once
// SimGrid's engine with the settings under which its flow model is exact.
#include "sim/modules.hpp"

namespace lockstep::sim::cluster {

/// The raw latency, in seconds, that every route has in SimGrid, whatever its true latency. SimGrid weights a flow by
/// the raw latency of its route; equal ones make sharing fair. The true latency comes as a factor on this one. 1 s
/// keeps the weights of the solver at 1.
constexpr double kRawLatency_s = 1;

/// Which flows' rates SimGrid works out again when flows begin or end.
///
///   all      those of all flows, each time: right always
///   changed  those that the change reaches (SimGrid's "Lazy"): several times faster where many flows begin and end at
///            times of their own. SimGrid 3.32 looks for what a flow that begins changes from the first link of its
///            route on, and not at all if that link has changed at the same moment: of two flows that begin at once on
///            one first link, the second one's other links keep their old shares, and may carry twice their bandwidth.
///            Right where no two flows with a first link in common are ever under way together, and none begins when
///            another ends: routes begin at the sender's own link, so where every GPU sends one message at a time, and
///            every message has a latency.
enum class FlowUpdates { all, changed };
/// For the engine that this process starts later; all, unless called. Throws std::logic_error when it has started.
void set_flow_updates(FlowUpdates updates);

/// Starts the process's only engine. `stack_kib`: stack of every simulated actor, KiB. A simulation that deadlocks ends
/// in a std::runtime_error from Engine::run. Throws std::logic_error when there already is an engine.
void start_engine(int stack_kib = 64);

}  // namespace lockstep::sim::cluster
