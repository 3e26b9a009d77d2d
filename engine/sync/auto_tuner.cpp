#include "engine/sync/auto_tuner.hpp"

#include <cmath>

#include "engine/sync/learner.hpp"

namespace lockstep::sync {

TunerState tune(const TunerOptions& options, const TunerState& state, double throughput) {
  require(throughput > 0, "auto-tuner: throughput must be positive");
  require(options.threshold > 0, "auto-tuner: the threshold must be positive");
  require(options.most_learners >= 1, "auto-tuner: at least one learner must fit");
  TunerState next{state.learners, throughput, state.too_many, 0};
  if (state.change < 0) return next;  // after a removal, this observation is only the new reference

  const double gain = throughput - state.throughput;
  const double tolerance = options.threshold * state.throughput;
  const bool same_number = state.change == 0 && state.throughput > 0;
  if (same_number && std::abs(gain) > tolerance) next.too_many = 0;

  const int more = state.learners + 1;
  const bool may_grow = more <= options.most_learners && (next.too_many == 0 || more < next.too_many);
  if (gain > tolerance && may_grow) {
    next.learners = more;
    next.change = 1;
  } else if (gain < -tolerance && state.learners > 1) {
    if (!same_number) next.too_many = state.learners;
    next.learners = state.learners - 1;
    next.change = -1;
  }
  // Keeps the reference after a small change. Otherwise a slow drift would never be noticed.
  if (same_number && std::abs(gain) <= tolerance) next.throughput = state.throughput;
  return next;
}

}  // namespace lockstep::sync
