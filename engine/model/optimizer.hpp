#pragma once
// Optimizers of a network's parameters.
#include "engine/base/choice.hpp"

namespace lockstep::model {

enum class Optimizer { sgd, momentum, lars, adam, lamb };

inline const Choices<Optimizer>& choices_of(Optimizer) {
  static const Choices<Optimizer> all{{Optimizer::sgd, "sgd"},
                                      {Optimizer::momentum, "momentum"},
                                      {Optimizer::lars, "lars"},
                                      {Optimizer::adam, "adam"},
                                      {Optimizer::lamb, "lamb"}};
  return all;
}

}  // namespace lockstep::model
