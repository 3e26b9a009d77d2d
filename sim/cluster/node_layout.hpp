#pragma once
// One node's links and the routes between its parts, before SimGrid. All nodes of a cluster have the same.
#include <string>
#include <vector>

#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim {

/// One direction of a link (the memory of a socket: both).
struct NodeLink {
  std::string name;
  double bandwidth_bytes_per_s;
  double latency_s;
  /// It begins the routes of a GPU or the CPU: every route from these has exactly one such link, a route from the port
  /// none. See kRawLatency_s.
  bool begins_routes;
};

/// Endpoints are the GPUs 0 .. gpus - 1, the CPU and the port, where the fabric begins.
class NodeLayout {
 public:
  explicit NodeLayout(const ClusterSpec& spec);

  int gpus() const { return gpus_; }
  int cpu() const { return gpus_; }
  int port() const { return gpus_ + 1; }
  int endpoints() const { return gpus_ + 2; }

  const std::vector<NodeLink>& links() const { return links_; }
  /// Indices in links(), in order; empty from an endpoint to itself, and to the port where there is no NIC.
  const std::vector<int>& route(int from, int to) const;
  double latency_s(int from, int to) const;

 private:
  struct Builder;
  void drop_unused_links();

  int gpus_;
  std::vector<NodeLink> links_;
  std::vector<std::vector<int>> routes_;
};

}  // namespace lockstep::sim
