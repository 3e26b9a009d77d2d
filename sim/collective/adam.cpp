#include "sim/collective/adam.hpp"

namespace lockstep::sim {
inline namespace collective {

Plan push_factors(const Roles& roles, std::int64_t bytes, int owner) {
  Plan plan{"Adam, push of factors", roles.ranks, bytes, {}};
  const int server = roles.servers[static_cast<std::size_t>(owner)];
  Phase gather, push;
  for (const std::vector<int>& node : roles.nodes) {
    for (std::size_t i = 1; i < node.size(); ++i) gather.transfers.push_back({node[i], node.front(), bytes});
    if (node.front() != server)
      push.transfers.push_back({node.front(), server, bytes * static_cast<std::int64_t>(node.size())});
  }
  for (Phase* phase : {&gather, &push})
    if (!phase->transfers.empty()) plan.phases.push_back(std::move(*phase));
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
