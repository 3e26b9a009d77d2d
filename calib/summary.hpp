#pragma once
// Summarises a series of repeated timings by the rules of Hoefler & Belli (SC'15): medians with confidence intervals
// from order statistics, without assuming a normal distribution.
#include <utility>
#include <vector>

namespace lockstep::calib {

struct Summary {
  int count = 0;
  double median_s = 0;
  /// The 95 % confidence interval of the median has these bounds, by the binomial distribution of order statistics for
  /// `effective_count` independent samples. Below 6 samples, they are the minimum and the maximum.
  double low_s = 0;
  double high_s = 0;
  /// (high - low) / (2 median). Sampling continues until it is below the tolerance.
  double relative_half_width = 0;
  /// The number of samples further than 5 scaled median absolute deviations (1.4826 MAD) and 2 % from the median.
  int outliers = 0;
  /// The correlation of neighbouring samples (lag 1), which is near 0 if they are independent.
  double autocorrelation = 0;
  /// The equivalent number of independent samples; see effective_count().
  double effective_count = 0;
  /// Two-sided p-value of the Mann-Kendall trend test (normal approximation with ties); 1 below 8 samples.
  double drift_p = 1;
  /// Median of the last third of the samples, divided by the median of the first third, minus 1.
  double drift = 0;
  /// A trend that is both significant (p < 0.01) and larger than 2 %.
  bool drifts() const { return drift_p < 0.01 && (drift > 0.02 || drift < -0.02); }
};

/// Summarises samples, in seconds, in the order in which they were measured. Throws std::invalid_argument if there are
/// none.
Summary summarise(const std::vector<double>& seconds);

/// Ranks (1-based) of the order statistics that bound the median of n samples with at least 95 % confidence; {1, n}
/// below 6.
std::pair<int, int> median_interval_ranks(int n);
/// Ranks for n samples that equal `effective` independent ones. Takes the ranks of `effective` independent samples,
/// scales their distance from the middle by n / effective, and rounds outwards; {1, n} below 6.
std::pair<int, int> median_interval_ranks(int n, double effective);

/// The number of independent samples that these n equal, from 1 to n. Successive timings are not independent, because a
/// disturbance of one often affects the next. The median varies as much as the median of n / (1 + 2 sum (1 - k/n) r_k),
/// k = 1 .. n - 1, independent samples (Bayley & Hammersley, J. Roy. Stat. Soc. Suppl. 8, 1946). r_k is the correlation
/// at lag k of the signs of x - median. The median depends only on these signs, so outliers have no effect.
///
/// r_1 is measured, and used if above 0. From 8 samples on it is corrected for its bias of -(1 + 3 r_1) / n (Kendall,
/// Biometrika 41, 1954). The value r_k = 2/pi asin(rho^k) with rho = sin(pi r_1 / 2) is the correlation of the signs of
/// a normal first-order process (arcsine law, Van Vleck & Middleton, Proc. IEEE 54, 1966), or of any increasing
/// function of one.
double effective_count(const std::vector<double>& x);

}  // namespace lockstep::calib
