#include "sim/messages/engine.hpp"

#include <xbt/log.h>

#include <stdexcept>
#include <string>

#include "sim/messages/simgrid_compat.hpp"

namespace lockstep::sim::messages {

namespace sg4 = simgrid::s4u;

namespace {

FlowUpdates flow_updates = FlowUpdates::all;

// Takes latencies and bandwidths from the platform, without cross traffic or TCP window. Events that are not
// simultaneous stay apart (1e-12 s). Messages of a host to itself cost only their overhead.
void configure(int stack_kib) {
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config(flow_updates == FlowUpdates::all ? "network/optim:Full" : "network/optim:Lazy");
  sg4::Engine::set_config("network/crosstraffic:no");
  sg4::Engine::set_config("network/TCP-gamma:1e30");
  sg4::Engine::set_config(std::string(compat::kTimePrecision) + ":1e-12");
  sg4::Engine::set_config("network/loopback-bw:1e15");
  sg4::Engine::set_config("network/loopback-lat:" + std::to_string(kRawLatency_s));
  sg4::Engine::set_config("contexts/stack-size:" + std::to_string(stack_kib));
}

}  // namespace

void choose_flow_updates(FlowUpdates updates) {
  if (sg4::Engine::has_instance()) throw std::logic_error("SimGrid is already started: its updates stay as they are");
  flow_updates = updates;
}

void start_engine(int stack_kib) {
  if (sg4::Engine::has_instance())
    throw std::logic_error("a process can run one simulation: SimGrid is already started");
  xbt_log_control_set("root.thres:critical");  // else SimGrid reports every setting on stderr
  // Lives as long as the process, because SimGrid cannot be started a second time.
  static sg4::Engine* const engine = new sg4::Engine("lockstep");
  static_cast<void>(engine);
  configure(stack_kib);
  sg4::Engine::on_deadlock_cb([] { throw std::runtime_error("the simulation deadlocked: every actor waits"); });
}

}  // namespace lockstep::sim::messages
