#pragma once
// What-ifs for a point: changes one group of a scenario's inputs and keeps all others.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::plan {

/// Points that a variation concerns: all, those with several GPUs in a node, or those with several nodes.
enum class Reach { gpu, node, network };

struct Variation {
  std::string name;  ///< identifies it in tasks
  std::string what;  ///< text for the report
  void (*apply)(Scenario& scenario);
  Reach reach;
};

/// The variations that the report lists as sensitivity. Each scales these inputs:
///
///   network bandwidth   NICs and every link of the fabric
///   network latency     NICs, fabric, and the software's overhead of every message. NCCL has latencies of its own; at
///                       every hop between nodes it gets the latency of NIC and fabric once more
///   node's links        PCIe, NVLink, sockets
///   GPU                 peak rates, memory bandwidth, launches, and measured rates and iterations
const std::vector<Variation>& variations();
/// Applies the variation with this name, or "even": no jitter and no delays, so that no GPU waits for a slower one.
void apply_variation(const std::string& name, Scenario& scenario);

}  // namespace lockstep::sim::plan
