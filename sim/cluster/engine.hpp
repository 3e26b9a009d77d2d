#pragma once
// SimGrid's engine with the settings under which its flow model is exact.
#include "sim/modules.hpp"

namespace lockstep::sim::cluster {

/// The raw latency, in seconds, that every route has in SimGrid, whatever its true latency. SimGrid weights a flow by
/// the raw latency of its route; equal ones make sharing fair. The true latency comes as a factor on this one. 1 s
/// keeps the weights of the solver at 1.
constexpr double kRawLatency_s = 1;

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

/// Starts the process's only engine. `stack_kib`: stack of every simulated actor, KiB. A simulation that deadlocks ends
/// in a std::runtime_error from Engine::run. Throws std::logic_error when there already is an engine.
void start_engine(int stack_kib = 64);

}  // namespace lockstep::sim::cluster
