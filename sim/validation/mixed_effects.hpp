#pragma once
// Estimates effects that observations share. The less evidence an effect has, the more it is shrunk towards 0.
//
// Observation i has the residual:
//
//   `r_i = sum_k a_ik x_k + e_i,   x_k ~ N(0, s_k^2),   e_i ~ N(0, (f_i s)^2)`
//
// Each x_k is the effect of a constant, or the common part of the observations of one source. The most probable x
// minimises
//
//   `sum_i w_i (r_i - sum_k a_ik x_k)^2 / (f_i s)^2 + sum_k v_k x_k^2 / s_k^2`.
//
// Mixed model equations: Henderson 1975, "Best linear unbiased estimation and prediction under a selection model";
// Gelman & Hill 2007, chapter 12. If n sources show an effect, each with variance v, it is their mean times n / (n + v
// / s_k^2). If sources differ much anyway, a single one thus moves a constant little.
//
// Weights w_i are Huber's, min(1, 1.5 f_i s / |rest|), so that a wrong record does not decide. The common part of a
// source has the weight v_k = min(1, 1.5 s_k / |x_k|). A source that differs from all others for a reason of its own
// therefore does not decide either. For constants v_k is 1. Deviations are the roots of the inverse matrix's diagonal.
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::validation {

struct Observation {
  double residual;
  std::vector<std::pair<std::size_t, double>> terms;  ///< effect and a_ik; an effect at most once
  double noise_factor = 1;                            ///< f_i
};

/// What an effect is around 0.
struct Spread {
  double s;                ///< s_k, > 0
  bool is_common = false;  ///< of the observations of one source, some of which are far off
};

struct Effects {
  std::vector<double> values;
  std::vector<double> deviations;
};

/// `noise` is s.
Effects solve_effects(const std::vector<Observation>& observations, const std::vector<Spread>& spreads, double noise);

}  // namespace lockstep::sim::validation
