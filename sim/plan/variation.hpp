#pragma once
// What-ifs around a point: one group of a scenario's inputs changed, everything else as it was.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::plan {

/// Which points a variation concerns: all, those of several GPUs on nodes of several, those of several nodes.
enum class Reach { gpu, node, network };

struct Variation {
  std::string name;  ///< as tasks name it
  std::string what;  ///< for the reader
  void (*apply)(Scenario& scenario);
  Reach reach;
};

/// Those whose effect is reported as sensitivity:
///   network bandwidth   NICs and every link of the fabric
///   network latency     NICs, fabric, the software's overhead of every message; NCCL, which has latencies of its own,
///                       sees that of the NIC and the fabric once more at every hop between nodes
///   node's links        PCIe, NVLink, sockets
///   GPU                 peak rates, memory bandwidth, launches, and measured rates and iterations
const std::vector<Variation>& variations();
/// The one of this name, or "even": no jitter and no delays, so that no GPU waits for a slower one.
void apply_variation(const std::string& name, Scenario& scenario);

}  // namespace lockstep::sim::plan
