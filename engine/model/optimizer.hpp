#pragma once
// Optimizers of a network's parameters: the state that each keeps and the arrays that it moves. Predictions of both the
// time and the memory of updates use this table.
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

/// The arrays that an update uses, each with one element per parameter. `state`, `read` and `written` are in single
/// precision, whatever the layers' precision.
struct UpdateArrays {
  int state;      ///< kept between updates in addition to the weights
  int read;       ///< by the kernels of the update
  int written;    ///< by the kernels of the update
  int for_norms;  ///< additional reads for norms that the update needs

  /// The number of passes over an array of parameters.
  int passes() const { return read + written + for_norms; }
  bool has_norms() const { return for_norms > 0; }
};

/// Arrays that each optimizer reads and writes, by its source:
///
///   sgd       g, w -> w                       engine/sync/vector_ops.hpp, engine/cuda/vector_ops_kernels.cu
///   momentum  g, v, w -> v, w                 the same
///   lars      the same after |w| and |g|      the same; You, Gitman & Ginsburg 2017
///   adam      g, w, m, v -> w, m, v           Kingma & Ba 2015; NVIDIA's apex, csrc/multi_tensor_adam.cu
///   lamb      |g| of all gradients, |w| of each tensor; g, w, m, v -> u, m, v, where the step u replaces g; |u| of
///             each tensor; u, w -> w          You et al. 2020; apex, csrc/multi_tensor_lamb.cu
///
/// Crossbow's learners (Koliousis et al. 2019) read and write more when they synchronise: sim/program/learners.hpp.
UpdateArrays update_arrays(Optimizer optimizer);

}  // namespace lockstep::model
