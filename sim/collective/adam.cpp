#include "sim/collective/adam.hpp"

namespace lockstep::sim::collective {

Plan push_factors(const Roles& roles, std::int64_t bytes, int owner) {
  Plan plan{"Adam, push of factors", roles.ranks, bytes, {}};
  const int server = roles.servers[static_cast<std::size_t>(owner)];
  Phase gather = to_leaders(roles, bytes, false), push;
  for (int node = 0; node < roles.nodes(); ++node)
    if (roles.leader(node) != server)
      push.transfers.push_back({roles.leader(node), server, bytes * roles.workers_of_node(node)});
  for (Phase* phase : {&gather, &push})
    if (!phase->transfers.empty()) plan.phases.edit().push_back(std::move(*phase));
  return plan;
}

}  // namespace lockstep::sim::collective
