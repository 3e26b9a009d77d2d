#pragma once
// Optimizers of a network's parameters: the state that each keeps and the arrays that it moves. Predictions of both the
// time and the memory of updates use this table.
#include <optional>

#include "engine/base/choice.hpp"

namespace lockstep::model {

enum class Optimizer { sgd, momentum, lars, adam, lamb, adafactor };

inline const Choices<Optimizer>& choices_of(Optimizer) {
  static const Choices<Optimizer> all{{Optimizer::sgd, "sgd"},   {Optimizer::momentum, "momentum"},
                                      {Optimizer::lars, "lars"}, {Optimizer::adam, "adam", {"adamw"}},
                                      {Optimizer::lamb, "lamb"}, {Optimizer::adafactor, "adafactor"}};
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
///   adafactor g for sums of rows and columns, the size of the step, |w|; g, w -> w. Without momentum; the sums are
///             no array.                       Shazeer & Stern 2018, algorithm 4
///
/// Crossbow's learners (Koliousis et al. 2019) read and write more when they synchronise: sim/program/learners.hpp.
UpdateArrays update_arrays(Optimizer optimizer);

/// Precision of each array of the optimizer's state:
///   `8bit`  Integers, with a single-precision scale per 256 of them (Dettmers et al. 2022, "8-bit optimizers via
///           block-wise quantization"; bitsandbytes/optim/optimizer.py).
///   `fp8`   One scale for each tensor (Transformer Engine's FusedAdam, exp_avg_dtype).
enum class StatePrecision { fp32, bf16, fp8, eight_bits };

inline const Choices<StatePrecision>& choices_of(StatePrecision) {
  static const Choices<StatePrecision> all{{StatePrecision::fp32, "fp32"},
                                           {StatePrecision::bf16, "bf16", {"fp16"}},
                                           {StatePrecision::fp8, "fp8"},
                                           {StatePrecision::eight_bits, "8bit", {"int8"}}};
  return all;
}

/// Returns the bytes of an element.
constexpr double bytes_of(StatePrecision precision) {
  switch (precision) {
    case StatePrecision::eight_bits:
      return 1 + 4.0 / 256;
    case StatePrecision::fp8:
      return 1;
    case StatePrecision::bf16:
      return 2;
    case StatePrecision::fp32:
      break;
  }
  return 4;
}

/// Precision of the weights that the update changes, if the layers' weights are in half precision. `fp16` also means
/// the 16 bits that single precision has in addition to bf16 (Megatron-LM's store_param_remainders).
enum class MasterWeights { fp32, fp16, none };

inline const Choices<MasterWeights>& choices_of(MasterWeights) {
  static const Choices<MasterWeights> all{
      {MasterWeights::fp32, "fp32"}, {MasterWeights::fp16, "fp16"}, {MasterWeights::none, "none"}};
  return all;
}

constexpr double bytes_of(MasterWeights weights) {
  return weights == MasterWeights::fp32 ? 4 : weights == MasterWeights::fp16 ? 2 : 0;
}

/// Precisions of an optimizer's state and master weights that differ from the software's default.
struct KeptPrecisions {
  std::optional<StatePrecision> state;
  std::optional<MasterWeights> master;

  /// Bytes per parameter that an update saves, compared with one whose arrays all have `element_bytes`. An update reads
  /// and writes every array of the state, and the master weights.
  double saved_update_bytes(Optimizer optimizer, double element_bytes) const {
    const double of_state = state ? element_bytes - bytes_of(*state) : 0;
    constexpr double kHalfBytes = 2;  // without master weights, the update changes the layers' half-precision weights
    const double weight_bytes =
        master == MasterWeights::none ? kHalfBytes : bytes_of(master.value_or(MasterWeights::fp32));
    const double of_weights = master ? element_bytes - weight_bytes : 0;
    return 2 * (update_arrays(optimizer).state * of_state + of_weights);
  }
};

}  // namespace lockstep::model
