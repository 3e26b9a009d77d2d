#include "sim/collective/sufficient_factors.hpp"

namespace lockstep::sim {
inline namespace collective {

std::int64_t factor_bytes(std::int64_t batch, std::int64_t inputs, std::int64_t outputs, int wire_bytes) {
  return batch * (inputs + outputs) * wire_bytes;
}

Plan broadcast_factors(const Roles& roles, std::int64_t bytes) {
  Plan plan{"sufficient factors", roles.ranks, bytes, {}};
  Phase gather, exchange, hand_on;
  for (const std::vector<int>& node : roles.nodes) {
    const auto workers = static_cast<std::int64_t>(node.size());
    for (std::size_t i = 1; i < node.size(); ++i) {
      gather.transfers.push_back({node[i], node.front(), bytes});
      hand_on.transfers.push_back({node.front(), node[i], bytes * (roles.workers() - 1)});
    }
    for (const std::vector<int>& other : roles.nodes)
      if (other.front() != node.front()) exchange.transfers.push_back({node.front(), other.front(), bytes * workers});
  }
  for (Phase* phase : {&gather, &exchange, &hand_on})
    if (!phase->transfers.empty()) plan.phases.push_back(std::move(*phase));
  return plan;
}

double reconstruction_flop(std::int64_t batch, std::int64_t inputs, std::int64_t outputs, int workers) {
  return 2.0 * static_cast<double>(inputs) * static_cast<double>(outputs) * static_cast<double>(batch) * (workers - 1);
}

}  // namespace collective
}  // namespace lockstep::sim
