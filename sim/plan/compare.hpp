#pragma once
// How well the order of two points is known. What is not known of both alike is off for both together and cancels in
// their ratio: the speed of the same GPU with the same software, links of the same network.
//
//   width^2 = sum over groups (a_g - b_g)^2 where the inputs are shared, a_g^2 + b_g^2 where they are not
//             + what of each one's bounds no group explains (epochs), unless the global batch is the same
//             + 2 x (uncertainty of prices)^2 where cost is compared and GPUs differ
//
// a_g, b_g: InputSpread of sim/point/point.hpp. Compute is shared by points of one GPU, bandwidth and latency by points
// of one GPU and cluster that run in one node, or over the same network.

#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// b over a: 1.1 is ten percent more.
struct Ratio {
  double value = 1;
  double low = 1;
  double high = 1;

  /// Its bounds leave no doubt which of the two is more.
  bool is_sure() const { return low > 1 || high < 1; }
};

Ratio time_ratio(const PlanRow& a, const PlanRow& b);
/// Both must have a price.
Ratio cost_ratio(const PlanRow& a, const PlanRow& b, double price_uncertainty);

}  // namespace lockstep::sim::plan
