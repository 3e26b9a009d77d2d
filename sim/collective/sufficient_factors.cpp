#include "sim/collective/sufficient_factors.hpp"

namespace lockstep::sim::collective {

std::int64_t factor_bytes(std::int64_t batch, std::int64_t inputs, std::int64_t outputs, int wire_bytes) {
  return batch * (inputs + outputs) * wire_bytes;
}

Plan broadcast_factors(const Roles& roles, std::int64_t bytes) {
  Plan plan{"sufficient factors", roles.ranks, bytes, {}};
  Phase gather = to_leaders(roles, bytes, false), hand_on = from_leaders(roles, bytes * (roles.workers - 1)), exchange;
  for (int node = 0; node < roles.nodes(); ++node)
    append_from_server(roles, roles.leader(node), bytes * roles.workers_of_node(node), exchange);
  for (Phase* phase : {&gather, &exchange, &hand_on})
    if (!phase->transfers.empty()) plan.phases.edit().push_back(std::move(*phase));
  return plan;
}

double reconstruction_flop(std::int64_t batch, std::int64_t inputs, std::int64_t outputs, int workers) {
  return 2.0 * static_cast<double>(inputs) * static_cast<double>(outputs) * static_cast<double>(batch) * (workers - 1);
}

}  // namespace lockstep::sim::collective
