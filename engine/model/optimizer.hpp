#pragma once
// Optimizers of a network's parameters: what each keeps and moves, the one table for the time and the memory of
// updates.
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

/// What an update touches, in arrays with an element per parameter. `state`, `read` and `written` are of single
/// precision, whatever the layers compute in.
struct UpdateArrays {
  int state;      ///< kept from one update to the next beside the weights
  int read;       ///< by the kernels of the update
  int written;    ///< the same
  int for_norms;  ///< read besides, for norms that the update needs

  /// Passes over an array of parameters.
  int passes() const { return read + written + for_norms; }
  bool has_norms() const { return for_norms > 0; }
};

/// sgd       g, w -> w                       engine/sync/vector_ops.hpp, engine/cuda/vector_ops_kernels.cu
/// momentum  g, v, w -> v, w                 the same
/// lars      the same after |w| and |g|      the same; You, Gitman & Ginsburg 2017
/// adam      g, w, m, v -> w, m, v           Kingma & Ba 2015; NVIDIA's apex, csrc/multi_tensor_adam.cu
/// lamb      |g| of all gradients and |w| of each tensor; g, w, m, v -> u, m, v with the step u in the place of g; |u|
///           of each tensor; u, w -> w       You et al. 2020; apex, csrc/multi_tensor_lamb.cu
///
/// Crossbow's learners (Koliousis et al. 2019) read and write more when they synchronise: sim/program/learners.hpp.
UpdateArrays update_arrays(Optimizer optimizer);

}  // namespace lockstep::model
