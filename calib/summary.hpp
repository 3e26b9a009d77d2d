#pragma once
// What a series of repeated timings says, by the rules of Hoefler & Belli (SC'15): medians with confidence intervals
// from order statistics, no assumption of a normal distribution.
#include <utility>
#include <vector>

namespace lockstep::calib {

struct Summary {
  int count = 0;
  double median_s = 0;
  /// 95 % confidence interval of the median from the binomial distribution of order statistics: the widest available
  /// (minimum, maximum) below 6 samples.
  double low_s = 0;
  double high_s = 0;
  /// (high - low) / (2 median): what a measurement drives below its tolerance.
  double relative_half_width = 0;
  /// Samples further than 5 scaled median absolute deviations (1.4826 MAD) and 2 % from the median.
  int outliers = 0;
  /// Correlation of neighbouring samples (lag 1); near 0 for independent ones.
  double autocorrelation = 0;
  /// Two-sided p-value of the Mann-Kendall trend test (normal approximation with ties); 1 below 8 samples.
  double drift_p = 1;
  /// Median of the last third over that of the first third, minus 1.
  double drift = 0;
  /// A trend that is both significant (p < 0.01) and larger than 2 %.
  bool drifts() const { return drift_p < 0.01 && (drift > 0.02 || drift < -0.02); }
};

/// Of samples in the order in which they were taken, in seconds. Throws std::invalid_argument for none.
Summary summarise(const std::vector<double>& seconds);

/// Ranks (1-based) whose order statistics bound the median of n samples with at least 95 % confidence; {1, n} below 6.
std::pair<int, int> median_interval_ranks(int n);

}  // namespace lockstep::calib
