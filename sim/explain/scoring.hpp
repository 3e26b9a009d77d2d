#pragma once
// Ranks causes by Bayes' rule: each cause predicts every measurement, and its likelihood is weighted by its prior.
//
// log(measured / predicted) of measurement i is s_i (b + e_i). s_i is the standard deviation of the prediction's 80 % interval,
// ln(high / low) / (2 x 1.28), at least 0.03. b is normal, the same for all measurements: a prediction that is 20 % off at 1 GB is
// so at 2 GB. e_i is Student's t with 4 degrees of freedom, independent of the others: a single size that is far off decides
// little. The variance of b is 0.7 and that of e_i 0.3, which is assumed. The likelihood of a cause of unknown strength
// is the mean over its variants.
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

constexpr double kIndependent = 5;          ///< all sizes of one log count as at most so many independent measurements
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
