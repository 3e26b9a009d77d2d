#include "engine/sync/lars.hpp"

namespace lockstep::sync {

double trust_ratio(const LarsOptions& lars, double weight_norm, double gradient_norm, double weight_decay) {
  if (weight_norm <= 0 || gradient_norm <= 0) return 1;
  return lars.coefficient * weight_norm / (gradient_norm + weight_decay * weight_norm + lars.epsilon);
}

void check(const UpdateOptions& options) {
  require(options.momentum >= 0 && options.momentum < 1, "update: momentum must be in [0, 1)");
  require(options.weight_decay >= 0, "update: weight decay must not be negative");
  if (!options.lars) return;
  require(options.lars->coefficient > 0, "update: the LARS coefficient must be positive");
  require(options.lars->epsilon >= 0, "update: the LARS epsilon must not be negative");
}

void update(VectorOps& ops, const Layout& layout, const UpdateOptions& options, double learning_rate, const float* g,
            float* v, float* w) {
  const StepSize step{learning_rate, options.momentum, options.weight_decay};
  if (options.lars) {
    ops.lars_update(layout, step, *options.lars, g, v, w);
  } else {
    ops.momentum_update(layout, step, g, v, w);
  }
}

}  // namespace lockstep::sync
