#include "engine/sync/loss_scale.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sync {
namespace {

bool is_power_of_two(double x) {
  int exponent = 0;
  return x >= 1 && std::isfinite(x) && std::frexp(x, &exponent) == 0.5;
}

}  // namespace

LossScale::LossScale(const LossScaleOptions& options) : options_(options), scale_(options.initial) {
  require(is_power_of_two(options.initial) && is_power_of_two(options.most), "loss scale: powers of two from 1 on");
  require(options.most >= options.initial, "loss scale: the largest scale is below the first");
  require(options.growth_interval >= 1, "loss scale: an interval of at least one step");
}

void LossScale::count_good_step() {
  if (++good_steps_ < options_.growth_interval) return;
  scale_ = std::min(options_.most, 2 * scale_);
  good_steps_ = 0;
}

void LossScale::overflow() {
  scale_ = std::max(1.0, scale_ / 2);
  good_steps_ = 0;
  ++overflows_;
}

void LossScale::visit_state(StateVisitor& state) {
  state.real("loss_scale", scale_);
  state.integer("loss_scale/good_steps", good_steps_);
  state.integer("loss_scale/overflows", overflows_);
}

}  // namespace lockstep::sync
