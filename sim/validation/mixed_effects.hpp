#pragma once
// Effects that observations share, each shrunk towards 0 by how little says so.
//
// Observation i has the residual
//
//   r_i = sum_k a_ik x_k + e_i,   x_k ~ N(0, s_k^2),   e_i ~ N(0, (f_i s)^2)
//
// with effects x_k: of a constant, and of what the observations of one source have in common. The most probable x
// minimises  sum_i w_i (r_i - sum_k a_ik x_k)^2 / (f_i s)^2 + sum_k v_k x_k^2 / s_k^2  (mixed model equations: Henderson 1975,
// "Best linear unbiased estimation and prediction under a selection model"; Gelman & Hill 2007, chapter 12). An effect
// that n sources show, each with variance v, is their mean times n / (n + v / s_k^2): one source moves a constant little
// where it differs from others anyway. Weights w_i are Huber's, min(1, 1.5 f_i s / |rest|), so that a wrong record does not
// decide; so are those of what a source has in common, v_k = min(1, 1.5 s_k / |x_k|), so that a source that is far off from
// all others, for a reason of its own, does not (1 for constants). Deviations are the roots of the inverse matrix's diagonal.
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
