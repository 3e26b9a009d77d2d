#pragma once
// The time of a worker's step as a random variable: the variation of machines, and their stragglers.
//
// Delays are drawn by inversion: X = Q(u), with u uniform for (seed, worker, step). A worker's delay in a step thus
// does not depend on the number of workers, and configurations are compared with the same random numbers.
//
// The body is a lognormal of median m and deviation sigma. A Pareto tail replaces its slowest share p. With z(u), the
// quantile of the standard normal:
//
//   Q(u) = m exp(sigma z(u))                          for u < 1 - p.
//   Q(u) = m exp(sigma z(1 - p)) (p / (1 - u))^(1/a)  above. There P(X > x) = p (x / Q(1 - p))^-a.
//
// For a given p, ln Q is linear in (ln m, sigma, 1/a). A fit to percentiles is therefore linear least squares for each
// p of a grid. (Chen et al. 2016, Figs. 3 and 4, show such a body with a tail of up to 200 times its median.)
#include <cstdint>
#include <vector>

#include "sim/scenario/delay_spec.hpp"

namespace lockstep::sim::cost {

/// A distribution from which delays can be drawn.
class Delay {
 public:
  /// If the specification gives percentiles, fits the distribution to them.
  explicit Delay(const DelaySpec& spec);

  /// Returns the p-quantile, p in (0, 1).
  double quantile(double p) const;
  /// Returns the same delay for the same arguments.
  double draw(std::uint64_t seed, int worker, int step) const;
  /// Returns the expected k-th smallest of n independent draws, 1 <= k <= n, by numeric integration of Q over the k-th
  /// order statistic's distribution. For a tail index of at most 1 it may be infinite, and the result meaningless.
  double expected_order_statistic(int k, int n) const;

  /// Returns the specification, with fitted values in place of percentiles.
  const DelaySpec& spec() const { return spec_; }
  /// Returns the root mean square of ln(fitted/given) over the percentiles; 0 if the delay was not fitted.
  double fit_residual() const { return fit_residual_; }

 private:
  DelaySpec spec_;
  double fit_residual_ = 0;
};

struct TailFit {
  double median;
  double sigma;
  double tail_probability;
  double tail_index;    ///< 1e3 if no percentile requires a tail
  double rms_residual;  ///< of ln(fitted/given)
};

/// Fits a lognormal with a Pareto tail to two or more ascending percentiles, by least squares on the logarithms.
TailFit fit_tail(const std::vector<PercentileSpec>& percentiles);

/// Returns the p-quantile of the gamma distribution with scale 1; shape > 0, p in (0, 1).
double gamma_quantile(double shape, double p);

}  // namespace lockstep::sim::cost
