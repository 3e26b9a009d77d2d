#pragma once
// Estimates effects that observations share. The less evidence an effect has, the more it is shrunk towards 0.
//
// Observation i has the residual:
//
//   `r_i = sum_k a_ik x_k + e_i,   x_k ~ N(0, s_k^2),   e_i ~ N(0, (f_i s)^2)`
//
// Each x_k is the effect of a constant, or the common error of the observations of one source. The most probable x
// minimises
//
//   `sum_i w_i (r_i - sum_k a_ik x_k)^2 / (f_i s)^2 + sum_k v_k x_k^2 / s_k^2`.
//
// Mixed model equations: Henderson 1975, "Best linear unbiased estimation and prediction under a selection model";
// Gelman & Hill 2007, chapter 12. If n sources show an effect, each with variance v, it is their mean times n / (n + v
// / s_k^2). If sources differ much anyway, a single one thus moves a constant little.
//
// Weights w_i are Huber's, min(1, 1.5 f_i s / |rest|), so that a wrong record does not decide the result. The common
// error of a source has the weight v_k = min(1, 1.5 s_k / |x_k|), so that a source that differs from all others does
// not decide it either. For constants v_k is 1. Deviations are the roots of the diagonal of the inverse matrix.
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::validation {

struct Observation {
  double residual;
  std::vector<std::pair<std::size_t, double>> terms;  ///< effect and a_ik; each effect at most once
  double noise_factor = 1;                            ///< f_i
};

/// An effect is normally distributed around 0 before any observation.
struct Spread {
  double s;                ///< s_k, > 0
  bool is_common = false;  ///< a common error of one source's observations, which is large in some sources
};

struct Effects {
  std::vector<double> values;
  std::vector<double> deviations;
};

/// `noise` is s above.
Effects solve_effects(const std::vector<Observation>& observations, const std::vector<Spread>& spreads, double noise);

}  // namespace lockstep::sim::validation
