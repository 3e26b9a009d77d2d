#pragma once
// One link that serves its flows by processor sharing. At every moment they share its bandwidth evenly, but none
// exceeds its own maximum rate. The other flows share what such a flow leaves.
#include <cstddef>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

struct SharingFlow {
  double start_s;
  double bytes;             ///< above 0
  double most_bytes_per_s;  ///< above 0
};

/// Computes when each flow ends. More than some dozens of flows get an equal share while they are active together, and
/// none ends earlier than at its maximum rate.
class ProcessorSharing {
 public:
  void run(const std::vector<SharingFlow>& flows, double bandwidth, std::vector<double>& ends_s);

 private:
  void run_few(const std::vector<SharingFlow>& flows, double bandwidth, std::vector<double>& ends_s);
  void run_many(const std::vector<SharingFlow>& flows, double bandwidth, std::vector<double>& ends_s);
  void share_out(const std::vector<SharingFlow>& flows, double bandwidth);

  std::vector<std::size_t> order_, active_;  // by start; the active ones
  std::vector<double> left_, rate_;          // by flow
};

}  // namespace lockstep::sim::replay
