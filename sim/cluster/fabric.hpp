#pragma once
// Computes the links between a cluster's nodes and the routes over them by formula, without storing any pair, node or
// link. Routes are those of SimGrid's zones of the same names (3.32), which carry the messages of fidelity `message`.
//
// - Star: a switch that is never the bottleneck has no link. If its ports carry less than a node's NICs, a route has
//   the ports of both nodes, out and in.
// - Fat tree: up by d-mod-k, then down by the labels. At level l d-mod-k takes port floor(destination / product of the
//   parents below) mod the ports of l. Among parallel cables a route takes number source mod cables. With ECMP a hash
//   of the connection chooses port and cable at each level. If that way is closed, the next port that leads to the
//   destination is taken. SimGrid has neither; platform.hpp then gives it every route.
// - Torus: one dimension after the other, in the shorter direction.
// - Dragonfly: the minimal route. It goes in the chassis to the router that is wired to the other group, to chassis 0,
//   to the other group, and there in the same way. A route that changes both router and chassis within a group
//   continues as if from chassis 0.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::cluster {

class Fabric {
 public:
  /// `link_latency_s`: of each link that a message passes.
  explicit Fabric(double link_latency_s) : link_latency_s_(link_latency_s) {}
  virtual ~Fabric() = default;
  virtual int links() const = 0;
  virtual double bandwidth_bytes_per_s(int link) const = 0;
  virtual std::string name(int link) const = 0;
  /// Appends the links from node to another node, each plus `first_link`. `connection` tells connections between the
  /// same nodes apart, for ECMP. Throws InputError if closed links leave no route.
  virtual void append_route(int from, int to, std::uint64_t connection, int first_link,
                            std::vector<int>& links) const = 0;
  /// Removes dead links from all routes. Throws InputError if the fabric has only one route between two nodes.
  virtual void close(const std::vector<int>& links);
  /// Returns the latency of a message between two nodes: the sum over the links that it passes.
  virtual double latency_s(int from, int to) const { return hops(from, to) * link_latency_s_; }

  /// Returns the nodes of a unit: consecutive nodes that can be exchanged for another unit without changing routes. A
  /// route only uses links of the units of its two ends. Their places in a unit do not depend on which units these are.
  /// 0: only all nodes together are a unit.
  virtual int nodes_of_unit() const { return 0; }
  struct UnitLink {
    int unit;
    int link;  ///< number among the unit's links
  };
  virtual UnitLink unit_of(int link) const { return {0, link}; }
  virtual int links_of_unit() const { return links(); }

 protected:
  /// Returns how many times a message between the two nodes pays the latency of a link.
  virtual int hops(int from, int to) const = 0;

 private:
  double link_latency_s_;
};

/// Makes the fabric of `spec.fabric`. The `nodes` nodes take its lowest-numbered places.
std::unique_ptr<Fabric> make_fabric(const ClusterSpec& spec, int nodes);

/// Returns the largest latency of a message from the first of `nodes` nodes to another one, without NICs; 0 for one
/// node.
double longest_fabric_latency_s(const ClusterSpec& spec, int nodes);

}  // namespace lockstep::sim::cluster
