#include "engine/base/json.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim {

std::string to_string(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::message:
      return "message";
    case Fidelity::fast:
      return "fast";
    case Fidelity::analytic:
      return "analytic";
  }
  return "";
}

Fidelity fidelity_from(const std::string& name) {
  for (Fidelity f : {Fidelity::message, Fidelity::fast, Fidelity::analytic})
    if (to_string(f) == name) return f;
  throw InputError("unknown fidelity \"" + name + "\"; allowed: message, fast, analytic");
}

void GpuTimeline::add(const Exchange& exchange) {
  for (auto known = exchanges.rbegin(); known != exchanges.rend() && known->work == exchange.work; ++known) {
    if (known->peer != exchange.peer || known->is_send != exchange.is_send) continue;
    known->bytes += exchange.bytes;
    known->messages += exchange.messages;
    known->end_s = exchange.end_s;
    return;
  }
  exchanges.push_back(exchange);
}

}  // namespace lockstep::sim
