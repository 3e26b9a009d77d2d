#pragma once
// Computes the energy of a training from the load of its nodes.
//
//   node power = busy power x (standby + (1 - standby) x load)
//   energy     = PUE x (nodes x node power + spares x busy power x standby) x time
//
// Load is the share of time in which a node's GPUs compute: computation over iteration, times the goodput, times the
// used share of the node's GPUs. Standby is the power of a waiting node relative to that of a busy one.
//
// Both values for a node of eight H100 SXM5 are fitted to MLPerf Power v4.0 (results/validation/energy.md). They are
// wall power without network switches.
#include <optional>
#include <string>

#include "engine/base/object_format.hpp"
#include "sim/plan/task.hpp"

namespace lockstep::sim::plan {

/// Wall power of a node of eight H100 SXM5 that trains at full load: the mean of six tasks, each on one node.
inline constexpr double kBusyH100Node_w = 7039;

struct EnergySpec {
  double standby_share = 0;
  double pue = 1;
  std::optional<double> co2_g_per_kwh;  ///< none: CO2 is not reported
};

const ObjectFormat<EnergySpec>& energy_format();

/// Returns the wall power of a busy node per GPU; none if it is unknown.
std::optional<double> busy_power_per_gpu_w(const std::string& gpu);

/// Returns the mean power of a node of the point. `busy_w` is the power of a busy node per GPU. The next function
/// returns the energy with cooling and spares.
double node_power_w(const EnergySpec& spec, const Outcome& outcome, double busy_w);
double energy_j(const EnergySpec& spec, const Outcome& outcome, double busy_w);

}  // namespace lockstep::sim::plan
