#pragma once
// What a series of repeated timings says, by the rules of Hoefler & Belli (SC'15): medians with confidence intervals
// from order statistics, no assumption of a normal distribution.
#include <utility>
#include <vector>

namespace lockstep::calib {

struct Summary {
  int count = 0;
  double median_s = 0;
  /// 95 % confidence interval of the median from the binomial distribution of order statistics, for as many
  /// independent samples as these are worth: the widest available (minimum, maximum) below 6.
  double low_s = 0;
  double high_s = 0;
  /// (high - low) / (2 median): what a measurement drives below its tolerance.
  double relative_half_width = 0;
  /// Samples further than 5 scaled median absolute deviations (1.4826 MAD) and 2 % from the median.
  int outliers = 0;
  /// Correlation of neighbouring samples (lag 1); near 0 for independent ones.
  double autocorrelation = 0;
  /// Independent samples that these are worth; see effective_count().
  double effective_count = 0;
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
/// Of n samples that are worth `effective` independent ones: ranks whose distance from the middle is the same share of
/// n as that of the independent ones' ranks is of `effective`, rounded outwards; {1, n} below 6.
std::pair<int, int> median_interval_ranks(int n, double effective);

/// Timings of one thing follow one another and are not independent: what slows one slows the next. The median's
/// variance is that of n / (1 + 2 sum (1 - k/n) r_k), k = 1 .. n - 1, independent samples (Bayley & Hammersley, J. Roy.
/// Stat. Soc. Suppl. 8, 1946), where r_k is the correlation at lag k of the signs of x - median: the median goes by
/// those, and so outliers have no say. r_1 is measured, from 8 samples on corrected for its bias of -(1 + 3 r_1) / n
/// (Kendall, Biometrika 41, 1954), and counts where it is above 0; r_k = 2/pi asin(rho^k) with rho
/// = sin(pi r_1 / 2), the signs of a normal first-order process (arcsine law, Van Vleck & Middleton, Proc. IEEE 54,
/// 1966), or of anything that rises with one. From 1 to n.
double effective_count(const std::vector<double>& x);

}  // namespace lockstep::calib
