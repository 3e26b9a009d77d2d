#pragma once
// The parameter server (Li et al. 2014). Every worker pushes its gradient to the servers that hold the parameters. The
// servers add up the gradients, and every worker pulls the new parameters back.
//
// Roles: A worker is a GPU that computes. The workers of a node first add up their gradients at the node's leader, its
// first worker. Only the P1 leaders take part in the exchange, and pass the new parameters on to their workers. A
// server is also the rank of a GPU. It may be a leader (co-located: the leader's share for its own server needs no
// message), or a GPU that does not compute.
//
// Bytes: There are S bytes of parameters on P2 servers. A leader pushes S and pulls S, a server receives and sends
// P1 S / P2. If both are one rank, its own share S / P2 is not sent. Every leader's gradient reaches every server once.
// A push or pull takes alpha + (P1 - 1) S beta / P1 if it is balanced, co-located and without contention elsewhere.
//
// Consistency is bulk-synchronous per exchange: a server leaves the push when all gradients are there, and only then
// takes part in the pull.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/collective/plan.hpp"

namespace lockstep::sim::collective {

struct Roles {
  int ranks = 0;             ///< GPUs, including those that only serve
  int workers = 0;           ///< they are the first ranks
  int gpus_per_node = 1;     ///< workers that share a node; the last node may have fewer
  std::vector<int> servers;  ///< ranks

  int nodes() const { return (workers + gpus_per_node - 1) / gpus_per_node; }  ///< of workers
  int workers_of_node(int node) const { return std::min(gpus_per_node, workers - node * gpus_per_node); }
  int leader(int node) const { return node * gpus_per_node; }
};

/// `servers` of the leaders are also servers (0: all of them). `workers` GPUs are in nodes of `gpus_per_node`.
Roles co_located_servers(int workers, int gpus_per_node, int servers);
/// Adds `servers` nodes to the workers' nodes. The first GPU of each is a server, its others are idle. If the workers'
/// last node is not full, it is not filled up.
Roles separate_servers(int workers, int gpus_per_node, int servers);

/// Deals parameters out to servers in turn. The next deal continues with the next server. Results are bytes by server.
class ShardDealer {
 public:
  explicit ShardDealer(int servers) : servers_(servers) {}
  /// Deals key-value pairs of `pair_bytes`, one to each server in turn; the last may be smaller.
  std::vector<std::int64_t> deal_pairs(std::int64_t bytes, std::int64_t pair_bytes);
  /// Deals a whole tensor to the next server, as TensorFlow places variables.
  std::vector<std::int64_t> deal_tensor(std::int64_t bytes);

 private:
  int servers_;
  int next_ = 0;
};

/// Messages from a node's workers to its leader, or from the leaders to the workers. Nodes with one worker have none.
Phase to_leaders(const Roles& roles, std::int64_t bytes, bool reduces);
Phase from_leaders(const Roles& roles, std::int64_t bytes);
/// Messages from every leader to `server` (a rank), or from the server to every leader. A leader that is the server
/// sends none to itself.
void append_to_server(const Roles& roles, int server, std::int64_t bytes, bool reduces, Phase& phase);
void append_from_server(const Roles& roles, int server, std::int64_t bytes, Phase& phase);

/// Sums gradients at the nodes' leaders. Then every leader sends to every server that holds a share.
Plan push_gradients(const Roles& roles, const std::vector<std::int64_t>& bytes_by_server);
/// Every server sends its share to every leader. The leaders then send to their nodes' workers.
Plan pull_parameters(const Roles& roles, const std::vector<std::int64_t>& bytes_by_server);

}  // namespace lockstep::sim::collective
