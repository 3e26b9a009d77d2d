#pragma once
// The energy of a training from the load of its nodes.
//
//   node power = busy power x (standby + (1 - standby) x load)
//   energy     = PUE x (nodes x node power + spares x busy power x standby) x time
//
// Load is the share of the time that a node's GPUs compute: compute over iteration, times the goodput, times the GPUs used
// over those of the node. Standby: what a node that waits takes of what it takes when busy. Both figures of a node of
// eight H100 SXM5 are fitted on MLPerf Power v4.0 (results/validation/energy.md): wall power, network switches apart.
#include <optional>
#include <string>

#include "engine/base/object_format.hpp"
#include "sim/plan/task.hpp"

namespace lockstep::sim::plan {

/// Wall power of a node of eight H100 SXM5 that trains at full load: the mean of six tasks on one node.
inline constexpr double kBusyH100Node_w = 7039;

struct EnergySpec {
  double standby_share = 0;
  double pue = 1;
  std::optional<double> co2_g_per_kwh;  ///< none: not told
};

const ObjectFormat<EnergySpec>& energy_format();

/// Wall power of a GPU's share of a busy node; none where it is not known.
std::optional<double> busy_power_per_gpu_w(const std::string& gpu);

/// Mean power of a node of the point, and its energy with cooling and spares, at `busy_w` for each GPU when busy.
double node_power_w(const EnergySpec& spec, const Outcome& outcome, double busy_w);
double energy_j(const EnergySpec& spec, const Outcome& outcome, double busy_w);

}  // namespace lockstep::sim::plan
