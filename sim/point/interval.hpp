#pragma once
// Prediction intervals. Each group of inputs (computing, bandwidth, latency) is moved to both ends of its uncertainty
// while the other groups stay. The groups' effects are independent, so they add in quadrature.
#include <array>
#include <functional>

#include "engine/base/json_fields.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::point {

/// Predicted seconds as a function of perturbed inputs.
using PerturbedSeconds = std::function<double(const Perturbation&)>;

/// Predicted seconds with one group of inputs at its favourable and at its unfavourable end.
struct GroupEnds {
  double better_s = 0;
  double worse_s = 0;
};
/// The ends of computing, bandwidth and latency, in this order. A group without uncertainty is evaluated once.
std::array<GroupEnds, 3> seconds_at_ends(const UncertaintySpec& uncertainty, const PerturbedSeconds& seconds);

/// Relative effect of each group on the seconds: half the difference between its two ends. Two points with the same
/// inputs share these errors.
struct InputSpread {
  double compute = 0;
  double bandwidth = 0;
  double latency = 0;
  LOCKSTEP_FIELDS(compute, bandwidth, latency);
};

/// Bounds relative to the predicted seconds.
struct [[nodiscard]] RelativeInterval {
  double low = 1;      ///< every group at its favourable end
  double high = 1;     ///< every group at its unfavourable end
  InputSpread spread;  ///< zeros if the interval was not computed group by group
  LOCKSTEP_FIELDS(low, high, spread);
};

RelativeInterval relative_interval(const UncertaintySpec& uncertainty, const PerturbedSeconds& seconds);

}  // namespace lockstep::sim::point
