#include "engine/sync/update.hpp"

namespace lockstep::sync {

bool is_adam(UpdateRule rule) {
  return rule == UpdateRule::adam || rule == UpdateRule::adamw;
}

void check(const UpdateOptions& options) {
  require(options.momentum >= 0 && options.momentum < 1, "update: momentum must be in [0, 1)");
  require(options.weight_decay >= 0, "update: weight decay must not be negative");
  const AdamOptions& adam = options.adam;
  require(adam.beta1 >= 0 && adam.beta1 < 1 && adam.beta2 >= 0 && adam.beta2 < 1, "update: betas must be in [0, 1)");
  require(adam.epsilon > 0, "update: Adam's epsilon must be positive");
  if (!options.lars) return;
  require(options.rule == UpdateRule::momentum, "update: LARS adapts the rates of momentum alone");
  require(options.lars->coefficient > 0, "update: the LARS coefficient must be positive");
  require(options.lars->epsilon >= 0, "update: the LARS epsilon must not be negative");
}

Updater::Updater(VectorOps& ops, std::int64_t n, int device, const UpdateOptions& options)
    : ops_(&ops), options_(options) {
  check(options_);
  for (int k = 0; k < (is_adam(options_.rule) ? 2 : 1); ++k) kept_.emplace_back(ops, n, device);
}

void Updater::update(const Layout& layout, double learning_rate, const float* g, float* w) {
  ++updates_;
  const StepSize step{learning_rate, options_.momentum, options_.weight_decay};
  float* const first = kept_.front().data();
  switch (options_.rule) {
    case UpdateRule::momentum:
      if (options_.lars) return ops_->lars_update(layout, step, *options_.lars, g, first, w);
      return ops_->momentum_update(layout, step, g, first, w);
    case UpdateRule::nesterov:
      return ops_->nesterov_update(layout, step, g, first, w);
    case UpdateRule::adam:
    case UpdateRule::adamw:
      return ops_->adam_update(layout,
                               {learning_rate, options_.weight_decay, options_.adam.beta1, options_.adam.beta2,
                                options_.adam.epsilon, options_.rule == UpdateRule::adamw, updates_},
                               g, first, kept_.back().data(), w);
  }
}

void Updater::visit_state(StateVisitor& state, const std::string& of) {
  if (!is_adam(options_.rule)) return state.vector("velocity" + of, kept_.front());
  state.vector("first_moment" + of, kept_.front());
  state.vector("second_moment" + of, kept_.back());
  state.integer("updates" + of, updates_);
}

}  // namespace lockstep::sync
