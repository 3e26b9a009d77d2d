#pragma once
// 80 % intervals with the errors that published results showed. With `off`, the effect of the inputs' uncertainty on
// log(value), the bounds of a value are
//   value / exp(below w) and value exp(above w), w = sqrt(always^2 + off^2), or `always` where inputs do not count;
// `most_below` and `most_above` limit the exponents.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// No input is known better than that: relative to a time.
inline constexpr double kLeastError = 0.01;

/// |log(high / low)|, at most kWidestBound; kWidestBound where one of them is not above zero.
double log_distance(double low, double high);

/// w above.
double half_width(const IntervalCalibration& calibration, double off);
/// value / lower bound, and upper bound / value, for the inputs' effects on either side.
double factor_below(const IntervalCalibration& calibration, double off);
double factor_above(const IntervalCalibration& calibration, double off);

/// Whether an iteration waits for what the nodes' processors decode.
bool waits_for_input(const Scenario& scenario, int gpus, double samples_per_s);

/// Replaces the intervals of the inputs' uncertainty by calibrated ones, where the scenario has a calibration.
void calibrate_intervals(const Scenario& scenario, PointResult& point);

}  // namespace lockstep::sim::point
