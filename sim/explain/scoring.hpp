#pragma once
// Ranks causes by Bayes' rule: each cause predicts every measurement, and its likelihood is weighted by its prior.
//
// Measurement i has log(measured / predicted) = s_i (b + e_i). Here s_i is the standard deviation of the prediction's
// 80 % interval, ln(high / low) / (2 x 1.28), at least 0.03. The error b is normal and the same for all measurements: a
// prediction with an error of 20 % at 1 GB has the same at 2 GB. Each e_i is independent, by Student's t with 4 degrees
// of freedom, so that a single size with a large error decides little. The variances of b, 0.7, and of e_i, 0.3, are
// assumed. The likelihood of a cause of unknown strength is the mean over its variants.
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::explain {

struct Expected {
  double seconds = 0;
  double low_s = 0, high_s = 0;  ///< 80 % prediction interval

  /// Standard deviation of log(seconds).
  double deviation() const;
};

/// The expectation whose deviation() is the given one.
Expected with_deviation(double seconds, double deviation);

constexpr double kIndependent = 5;  ///< all sizes of one log count as at most this number of independent measurements
constexpr double kSharedVariance = 0.7;     ///< the part of b
constexpr double kLeastDeviation = 0.03;    ///< of log(seconds): runs of one machine differ by as much
constexpr double kLatencyBytes = 64 << 10;  ///< up to this size latency decides

/// Logarithm of the likelihood of `measured_s` (seconds, each > 0) under the predictions, in the same order. `weights`: how
/// many independent measurements each one counts as, at most 1.
double log_likelihood(const std::vector<double>& measured_s, const std::vector<Expected>& expected,
                      const std::vector<double>& weights);

/// Probabilities from log(prior x likelihood), which sum to 1. At least one.
std::vector<double> normalised(const std::vector<double>& log_weights);

/// log of the mean of exp(values).
double log_mean(const std::vector<double>& values);

}  // namespace lockstep::sim::explain
