#pragma once
// A cluster's hosts, links and zones in SimGrid: a full zone with one precomputed route per pair for every node, as the
// leaves of SimGrid's own zone for the fabric. Only for the source files of this folder.
#include <string>
#include <vector>

#include "sim/cluster/node_layout.hpp"
#include "sim/cluster/simgrid_compat.hpp"

namespace lockstep::sim {

struct PlatformLink {
  simgrid::s4u::Link* link;
  std::string name;
  double bandwidth_bytes_per_s;
  double latency_s;
};

struct Platform {
  std::vector<simgrid::s4u::Host*> gpus;      ///< node by node
  std::vector<simgrid::s4u::Host*> cpus;      ///< by node
  std::vector<simgrid::s4u::Host*> memories;  ///< by node, then socket, where the layout has them
  std::vector<PlatformLink> links;
  simgrid::s4u::NetZone* fabric = nullptr;
};

/// Needs a started engine without a platform. Builds `nodes` nodes, and the whole fabric around them.
Platform build_platform(const ClusterSpec& spec, const NodeLayout& layout, int nodes);

}  // namespace lockstep::sim
