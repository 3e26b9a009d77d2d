#pragma once
// Computes how certain the order of two points is. Errors that both share cancel in their ratio. Points share the speed
// of the same GPU with the same software, and the links of the same network.
//
//   width^2 = sum over groups of (a_g - b_g)^2 if the inputs are shared, else a_g^2 + b_g^2
//             + the part of both intervals that no group explains (epochs), unless the global batch is the same
//             + 2 x (uncertainty of prices)^2 if costs are compared and GPUs differ
//
// a_g, b_g: InputSpread of sim/point/point.hpp. Points on one kind of GPU share compute. If they are also on one
// cluster, they share bandwidth and latency if all run in one node, or over the same network.

#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// The ratio b / a with its interval. 1.1 means ten percent more.
struct Ratio {
  double value = 1;
  double low = 1;
  double high = 1;

  /// True if the interval excludes 1, so that the order is certain.
  bool is_sure() const { return low > 1 || high < 1; }
};

Ratio time_ratio(const PlanRow& a, const PlanRow& b);
/// Requires that both points have prices.
Ratio cost_ratio(const PlanRow& a, const PlanRow& b, double price_uncertainty);

}  // namespace lockstep::sim::plan
