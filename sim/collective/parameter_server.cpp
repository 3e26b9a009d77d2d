#include "sim/collective/parameter_server.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::sim {
inline namespace collective {
namespace {

Roles workers_in_nodes(int workers, int gpus_per_node) {
  Roles roles;
  roles.ranks = workers;
  for (int first = 0; first < workers; first += gpus_per_node) {
    std::vector<int> node;
    for (int rank = first; rank < std::min(first + gpus_per_node, workers); ++rank) node.push_back(rank);
    roles.nodes.push_back(std::move(node));
  }
  return roles;
}

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

void append_if_any(Plan& plan, Phase phase) {
  if (!phase.transfers.empty()) plan.phases.push_back(std::move(phase));
}

}  // namespace

int Roles::workers() const {
  int count = 0;
  for (const std::vector<int>& node : nodes) count += static_cast<int>(node.size());
  return count;
}

Roles co_located_servers(int workers, int gpus_per_node, int servers) {
  Roles roles = workers_in_nodes(workers, gpus_per_node);
  const int leaders = static_cast<int>(roles.nodes.size());
  const int count = servers > 0 ? std::min(servers, leaders) : leaders;
  for (int s = 0; s < count; ++s) roles.servers.push_back(roles.nodes[static_cast<std::size_t>(s)].front());
  return roles;
}

Roles separate_servers(int workers, int gpus_per_node, int servers) {
  Roles roles = workers_in_nodes(workers, gpus_per_node);
  const int first = static_cast<int>(roles.nodes.size()) * gpus_per_node;
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

Plan push_gradients(const Roles& roles, const std::vector<std::int64_t>& bytes_by_server) {
  Plan plan{"parameter server, push", roles.ranks, sum(bytes_by_server), {}};
  Phase local, push;
  for (const std::vector<int>& node : roles.nodes) {
    for (std::size_t i = 1; i < node.size(); ++i) local.transfers.push_back({node[i], node.front(), plan.bytes, true});
    for (std::size_t s = 0; s < roles.servers.size(); ++s)
      if (bytes_by_server[s] > 0 && roles.servers[s] != node.front())
        push.transfers.push_back({node.front(), roles.servers[s], bytes_by_server[s], true});
  }
  append_if_any(plan, std::move(local));
  append_if_any(plan, std::move(push));
  return plan;
}

Plan pull_parameters(const Roles& roles, const std::vector<std::int64_t>& bytes_by_server) {
  Plan plan{"parameter server, pull", roles.ranks, sum(bytes_by_server), {}};
  Phase pull, local;
  for (const std::vector<int>& node : roles.nodes) {
    for (std::size_t s = 0; s < roles.servers.size(); ++s)
      if (bytes_by_server[s] > 0 && roles.servers[s] != node.front())
        pull.transfers.push_back({roles.servers[s], node.front(), bytes_by_server[s]});
    for (std::size_t i = 1; i < node.size(); ++i) local.transfers.push_back({node.front(), node[i], plan.bytes});
  }
  append_if_any(plan, std::move(pull));
  append_if_any(plan, std::move(local));
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
