#pragma once
// Predicts a training's kernels by measured laws (sim/kernel), in place of the roofline of layer_cost.hpp.
//
//   product     A GEMM of m rows, n columns, k inputs. Backward: dx is a GEMM (m, k, n), dw one of (n, k, m). In eight
//               and four bits the law was timed with casts, which are left out: frameworks fuse them with norms and
//               activations. Their bytes are counted by layer_cost.hpp.
//   attention   Forward: the law of unmasked attention times (visible pairs + 64 per query) / all pairs. The 64, half a
//               tile, are added only if causal. Laws of causal attention were timed with a paged cache of keys and
//               values, which training does not use. On an H100 this is within 12 % of cuDNN's forward and backward
//               pass from 512 tokens on (tests/records). The causal law is up to twice as slow on short sequences, and
//               serves only if there is no unmasked one. DeepSeek's latent attention has a law of its own.
//               Backward: (3 d + 2 e) / (d + e) times the FLOP, at kAttentionBackward times the forward rate. Here d
//               are the features of queries and keys, e those of values.
//   experts     Forward: the law of a layer of experts. Backward: each GEMM twice, so twice the forward pass.
//
// A speed is the rate of kernels in a training over their rate in short benchmarks: predicted time = law / speed. Clocks
// fall under sustained power, and software adds time that no kernel shows. Kernels that stay in 16 bits have a speed of
// their own, because 8 and 4 bits draw other power per FLOP.
#include <memory>

#include "engine/model/graph.hpp"
#include "sim/kernel/kernel_laws.hpp"

namespace lockstep::sim {
inline namespace cost {

/// Attention: FLOP/s of the backward pass over those of the forward pass.
///
///   0.74   cuDNN 9.19 on an H100, causal, 8192 tokens (both passes: results/h100/2026-11-26; forward pass: the law)
///   0.85   FlashAttention-2 on A100 (Dao 2023, arXiv:2307.08691)
///   0.75   FlashAttention-3 on H100 (Shah et al. 2024, arXiv:2407.08608)
constexpr double kAttentionBackward = 0.75;

struct KernelSpeeds {
  double in_precision = 1;  ///< of kernels in the job's precision
  double in_half = 1;       ///< of kernels that stay in 16 bits; in_precision if that has 16 bits or more
};

/// The measured laws that predict a device's kernels.
class TrainingKernels {
 public:
  /// `precision` applies to GEMMs with weights. Attention, the output layer and routers never use fewer than 16 bits.
  /// product_s(), attention_s() and experts_s() require that has_*() of that kernel is true.
  TrainingKernels(std::shared_ptr<const KernelLaws> laws, const KernelPeaks& peaks, KernelPrecision precision,
                  KernelSpeeds speeds);

  bool has_products() const { return product_ != nullptr && half_product_ != nullptr; }
  bool has_attention(const model::AttentionShape& shape) const { return attention_of(shape) != nullptr; }
  bool has_experts(bool is_gated) const { return (is_gated ? gated_experts_ : plain_experts_) != nullptr; }

  /// Returns the seconds of a GEMM without casts. `is_half`: in half precision, even if other GEMMs use another one.
  /// `added_bytes`: other bytes that the GEMM reads and writes while it computes, such as a sum to which it adds.
  double product_s(const GemmShape& shape, bool is_half, double added_bytes = 0) const;
  /// Returns the seconds of fused attention's forward pass, with `queries` tokens over shape.keys.
  double attention_s(const model::AttentionShape& shape, int queries, int batch) const;
  /// Returns the seconds of the forward pass of the layer's experts.
  double experts_s(const model::Layer& layer, double tokens) const;

 private:
  const KernelLaw* attention_of(const model::AttentionShape& shape) const;
  std::shared_ptr<const KernelLaws> laws_;
  KernelPeaks peaks_;
  KernelPrecision precision_;
  KernelSpeeds speeds_;
  const KernelLaw *product_, *half_product_, *paged_, *unmasked_, *latent_, *gated_experts_, *plain_experts_;
};

}  // namespace cost
}  // namespace lockstep::sim
