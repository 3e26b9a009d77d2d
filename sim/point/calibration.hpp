#pragma once
// Calibrates 80 % intervals by the errors that published results showed. `off` is the effect of the inputs' uncertainty
// on log(value). The bounds of a value are:
//   `value / exp(below w) and value exp(above w), w = sqrt(always^2 + off^2 + input^2)`
// If inputs do not count, w is `always`. The term `input` counts if the iteration waits for the nodes' decoding.
// `most_below` and `most_above` limit the exponents.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// Least relative error assumed of any input, as an effect on the time.
inline constexpr double kLeastError = 0.01;

/// Returns the half-width of the 80 % interval of a normal distribution, in standard deviations.
double reach_of_80_percent();
/// Returns the relative half-width of the 80 % interval of the number of epochs. Calibrated intervals take their standard
/// deviation.
double epochs_half_width(const Scenario& scenario);

/// Returns |log(high / low)|, at most kWidestBound. It is kWidestBound if one of them is not positive.
double log_distance(double low, double high);

/// Returns the width w of one side of the interval. `off`: the inputs' effects on that side, and `input` if it counts.
double half_width(const IntervalCalibration& calibration, double off);
/// Returns value / lower bound; factor_above() returns upper bound / value. `off` as for half_width().
double factor_below(const IntervalCalibration& calibration, double off);
double factor_above(const IntervalCalibration& calibration, double off);

/// True if decoding on the nodes' processors limits the rate.
bool waits_for_input(const Scenario& scenario, int gpus, double samples_per_s);

/// Replaces bounds of one standard deviation of the inputs by 80 % intervals: calibrated ones if the scenario has a
/// calibration, else those of a normal distribution.
void calibrate_intervals(const Scenario& scenario, PointResult& point);

}  // namespace lockstep::sim::point
