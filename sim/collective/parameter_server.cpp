#include "sim/collective/parameter_server.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep::sim::collective {
namespace {

// Returns the leaders other than `rank`, in runs: first rank, number of leaders.
std::vector<std::pair<int, int>> other_leaders(const Roles& roles, int rank) {
  const bool is_leader = rank < roles.workers && rank % roles.gpus_per_node == 0;
  if (!is_leader) return {{0, roles.nodes()}};
  const int before = rank / roles.gpus_per_node;
  return {{0, before}, {rank + roles.gpus_per_node, roles.nodes() - 1 - before}};
}

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

void append_if_any(Plan& plan, Phase phase) {
  if (!phase.transfers.empty()) plan.phases.edit().push_back(std::move(phase));
}

}  // namespace

Roles co_located_servers(int workers, int gpus_per_node, int servers) {
  Roles roles{workers, workers, gpus_per_node, {}};
  const int count = servers > 0 ? std::min(servers, roles.nodes()) : roles.nodes();
  for (int s = 0; s < count; ++s) roles.servers.push_back(roles.leader(s));
  return roles;
}

Roles separate_servers(int workers, int gpus_per_node, int servers) {
  Roles roles{workers, workers, gpus_per_node, {}};
  const int first = roles.nodes() * gpus_per_node;
  for (int s = 0; s < servers; ++s) roles.servers.push_back(first + s * gpus_per_node);
  roles.ranks = first + servers * gpus_per_node;
  return roles;
}

std::vector<std::int64_t> ShardDealer::deal_pairs(std::int64_t bytes, std::int64_t pair_bytes) {
  std::vector<std::int64_t> by_server(static_cast<std::size_t>(servers_), 0);
  for (std::int64_t left = bytes; left > 0; left -= pair_bytes) {
    by_server[static_cast<std::size_t>(next_)] += std::min(left, pair_bytes);
    next_ = (next_ + 1) % servers_;
  }
  return by_server;
}

std::vector<std::int64_t> ShardDealer::deal_tensor(std::int64_t bytes) {
  return deal_pairs(bytes, std::max<std::int64_t>(bytes, 1));
}

Phase to_leaders(const Roles& roles, std::int64_t bytes, bool reduces) {
  Phase phase;
  const int stride = roles.gpus_per_node;
  for (int i = 1; i < stride; ++i)
    phase.transfers.append(Run{i, 0, bytes, reduces, (roles.workers - i + stride - 1) / stride, stride, stride});
  return phase;
}

Phase from_leaders(const Roles& roles, std::int64_t bytes) {
  Phase phase;
  const int stride = roles.gpus_per_node;
  for (int i = 1; i < stride; ++i)
    phase.transfers.append(Run{0, i, bytes, false, (roles.workers - i + stride - 1) / stride, stride, stride});
  return phase;
}

void append_to_server(const Roles& roles, int server, std::int64_t bytes, bool reduces, Phase& phase) {
  for (const auto& [first, count] : other_leaders(roles, server))
    phase.transfers.append(Run{first, server, bytes, reduces, count, roles.gpus_per_node, 0});
}

void append_from_server(const Roles& roles, int server, std::int64_t bytes, Phase& phase) {
  for (const auto& [first, count] : other_leaders(roles, server))
    phase.transfers.append(Run{server, first, bytes, false, count, 0, roles.gpus_per_node});
}

Plan push_gradients(const Roles& roles, const std::vector<std::int64_t>& bytes_by_server) {
  Plan plan{"parameter server, push", roles.ranks, sum(bytes_by_server), {}};
  Phase push;
  for (std::size_t s = 0; s < roles.servers.size(); ++s)
    if (bytes_by_server[s] > 0) append_to_server(roles, roles.servers[s], bytes_by_server[s], true, push);
  append_if_any(plan, to_leaders(roles, plan.bytes, true));
  append_if_any(plan, std::move(push));
  return plan;
}

Plan pull_parameters(const Roles& roles, const std::vector<std::int64_t>& bytes_by_server) {
  Plan plan{"parameter server, pull", roles.ranks, sum(bytes_by_server), {}};
  Phase pull;
  for (std::size_t s = 0; s < roles.servers.size(); ++s)
    if (bytes_by_server[s] > 0) append_from_server(roles, roles.servers[s], bytes_by_server[s], pull);
  append_if_any(plan, std::move(pull));
  append_if_any(plan, from_leaders(roles, plan.bytes));
  return plan;
}

}  // namespace lockstep::sim::collective
