#pragma once
// The links between a cluster's nodes and the routes over them, by formula: nothing is kept per pair, per node or per
// link. Routes are those of SimGrid's zones of the same names (3.32), which carry the messages of fidelity `message`.
//
//   star       a switch that never is the bottleneck: no link, or, where the ports carry less than a node's NICs, each
//              node's port, out and in.
//   fat tree   up by d-mod-k (at level l port floor(destination / product of the parents below) mod the ports of l),
//              then down by the labels; of parallel cables the one that is source mod cables.
//   torus      dimension by dimension, the shorter way round.
//   dragonfly  minimal: in the chassis to the router that is wired to the other group, to chassis 0, over, and likewise
//              there. A route that changes both router and chassis within a group goes on as if from chassis 0.
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::cluster {

class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual int links() const = 0;
  virtual double bandwidth_bytes_per_s(int link) const = 0;
  virtual std::string name(int link) const = 0;
  /// Appends the links from node to another node, each plus `first_link`.
  virtual void append_route(int from, int to, int first_link, std::vector<int>& links) const = 0;
  /// How many times a message between the two pays the fabric's latency.
  virtual int hops(int from, int to) const = 0;

  /// Units: so many nodes in a row that units may change places. A route takes links of its ends' units alone, and the same
  /// ones of them whichever two units these are, or whichever one. 0: no fewer than all nodes are such a unit.
  virtual int nodes_of_unit() const { return 0; }
  struct UnitLink {
    int unit;
    int link;  ///< of the unit's
  };
  virtual UnitLink unit_of(int link) const { return {0, link}; }
  virtual int links_of_unit() const { return links(); }
};

/// Of `spec.fabric`, with `nodes` nodes on the places of lowest number.
std::unique_ptr<const Fabric> make_fabric(const ClusterSpec& spec, int nodes);

}  // namespace lockstep::sim::cluster
