#include "sim/replay/replay.hpp"

namespace lockstep::sim::replay {

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

}  // namespace lockstep::sim::replay
