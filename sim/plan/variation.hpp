#pragma once
// What-ifs for a point: changes one group of a scenario's inputs and keeps all others.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::plan {

/// A variation concerns all points, those with several GPUs in a node, or those with several nodes.
enum class Reach { gpu, node, network };

struct Variation {
  std::string name;  ///< its name in tasks
  std::string what;  ///< its text in the report
  void (*apply)(Scenario& scenario);
  Reach reach;
};

/// Returns the variations that the report lists as sensitivity. Each scales these inputs:
///
///   network bandwidth   NICs and every link of the fabric
///   network latency     NICs, fabric, and the software's overhead of every message. NCCL has latencies of its own, to
///                       which it adds that of NIC and fabric once more for every hop between nodes
///   node's links        PCIe, NVLink, sockets
///   GPU                 peak rates, memory bandwidth, launches, and measured rates and iterations
const std::vector<Variation>& variations();
/// Applies the variation with this name. "even" removes jitter and delays, so that no GPU waits for a slower one.
void apply_variation(const std::string& name, Scenario& scenario);

}  // namespace lockstep::sim::plan
