#include "engine/sync/adam.hpp"

#include <cmath>

namespace lockstep::sync {

AdamScalars::AdamScalars(const AdamStep& step)
    : beta1(static_cast<float>(step.beta1)),
      one_minus_beta1(static_cast<float>(1 - step.beta1)),
      beta2(static_cast<float>(step.beta2)),
      one_minus_beta2(static_cast<float>(1 - step.beta2)),
      rate(static_cast<float>(step.learning_rate / (1 - std::pow(step.beta1, static_cast<double>(step.t))))),
      root(static_cast<float>(1 / std::sqrt(1 - std::pow(step.beta2, static_cast<double>(step.t))))),
      epsilon(static_cast<float>(step.epsilon)),
      coupled(step.is_decoupled ? 0.0F : static_cast<float>(step.weight_decay)),
      shrink(step.is_decoupled ? static_cast<float>(step.learning_rate * step.weight_decay) : 0.0F) {}

}  // namespace lockstep::sync
