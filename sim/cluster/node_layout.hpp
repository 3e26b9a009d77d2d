#pragma once
// One node's links and the routes between its parts, independent of SimGrid. All nodes of a cluster have the same
// layout, except those with dead NICs.
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::cluster {

/// One direction of a link; the link of a socket's memory is both.
struct NodeLink {
  std::string name;
  double bandwidth_bytes_per_s;
  double latency_s;
  /// True if the link begins the routes of a GPU or the CPU. Each of their routes has exactly one such link, and a
  /// route from the port has none. See kRawLatency_s.
  bool begins_routes;
};

/// The endpoints are the GPUs 0 .. gpus - 1, the CPU, the port, where the fabric begins, and optionally the memories of
/// the sockets. Memories send to GPUs and receive from the port.
class NodeLayout {
 public:
  explicit NodeLayout(const ClusterSpec& spec, bool has_memories = false);
  /// Returns the layout of a node for each set of dead NICs, which must leave one. Links have the same numbers in all.
  static std::vector<NodeLayout> with_dead_nics(const ClusterSpec& spec, bool has_memories,
                                                const std::vector<std::set<int>>& dead_nics);

  int gpus() const { return gpus_; }
  int cpu() const { return gpus_; }
  int port() const { return gpus_ + 1; }
  int memory(int socket) const { return gpus_ + 2 + socket; }
  int memories() const { return memories_; }
  int endpoints() const { return gpus_ + 2 + memories_; }
  int socket_of_gpu(int gpu) const { return socket_of_gpu_[static_cast<std::size_t>(gpu)]; }
  int socket_of_first_nic() const { return socket_of_first_nic_; }

  const std::vector<NodeLink>& links() const { return links_; }
  /// Indices in links(), in order; empty from an endpoint to itself, and to the port where there is no NIC.
  const std::vector<int>& route(int from, int to) const;
  double latency_s(int from, int to) const;

 private:
  struct Builder;
  NodeLayout(const ClusterSpec& spec, bool has_memories, const std::set<int>& dead_nics);
  static void drop_unused_links(std::vector<NodeLayout*> layouts);

  int gpus_;
  int memories_ = 0;
  std::vector<int> socket_of_gpu_;
  int socket_of_first_nic_ = 0;
  std::vector<NodeLink> links_;
  std::vector<std::vector<int>> routes_;
};

}  // namespace lockstep::sim::cluster
