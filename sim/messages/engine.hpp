#pragma once
// SimGrid's engine with the settings under which its flow model is exact.
#include "sim/replay/simgrid_module.hpp"

namespace lockstep::sim::messages {

/// The raw latency, in seconds, that every route has in SimGrid, whatever its true latency. SimGrid weights a flow by
/// the raw latency of its route; equal ones make sharing fair. The true latency comes as a factor on this one. 1 s
/// keeps the weights of the solver at 1.
constexpr double kRawLatency_s = 1;

/// Implements set_flow_updates() of sim/replay/simgrid_module.hpp.
void choose_flow_updates(FlowUpdates updates);

/// Starts the process's only engine. `stack_kib`: stack of every simulated actor, KiB. A simulation that deadlocks ends
/// in a std::runtime_error from Engine::run. Throws std::logic_error when there already is an engine.
void start_engine(int stack_kib = 64);

}  // namespace lockstep::sim::messages
