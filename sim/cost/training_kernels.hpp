#pragma once
// The kernels of a training by their measured laws (sim/kernel), in place of the roofline of layer_cost.hpp.
//
//   product     a GEMM of m rows, n columns, k inputs. Backward: dx is a GEMM (m, k, n), dw one of (n, k, m). In eight and
//               four bits without the casts that were timed with it: frameworks fuse them with norms and activations, and
//               layer_cost.hpp has their bytes
//   attention   forward by the law of unmasked attention times the share of pairs that a mask leaves, with half a tile of
//               128 keys at its edge, as laws of causal attention are of paged caches, which training has not (on an H100
//               this meets both passes of cuDNN within 12 % from 512 tokens on, the law of paged attention falls short by
//               a half); without one by that law; DeepSeek's by a law of its own; backward
//               (3 d + 2 e) / (d + e) times its FLOP at kAttentionBackward of the forward pass's rate
//   experts     forward by the law of a layer of experts; backward each product twice: twice the forward pass
//
// Laws are of bursts of single kernels. In a training all take 1 / speed of that: clocks fall under sustained power, and
// software adds what no kernel shows.
#include <memory>

#include "engine/model/graph.hpp"
#include "sim/kernel/kernel_laws.hpp"

namespace lockstep::sim {
inline namespace cost {

/// Rate of the backward pass over that of the forward pass. cuDNN 9.19 on an H100, causal, heads of 128, 8192 tokens: 0.74
/// (results/h100/2026-11-26 for both passes, the law for the forward one). FlashAttention-2 on A100 (Dao 2023, arXiv:2307.08691):
/// 0.85; FlashAttention-3 on H100 (Shah et al. 2024, arXiv:2407.08608): 0.75.
constexpr double kAttentionBackward = 0.75;

/// Laws that a device's kernels go by.
class TrainingKernels {
 public:
  /// `precision`: of products with weights; attention, the last layer and routers are in half precision at most. Null laws
  /// stand for kernels that nobody measured: has_*() says so.
  TrainingKernels(std::shared_ptr<const KernelLaws> laws, const KernelPeaks& peaks, KernelPrecision precision,
                  double speed);

  bool has_products() const { return product_ != nullptr; }
  bool has_attention(const model::AttentionShape& shape) const { return attention_of(shape) != nullptr; }
  bool has_experts(bool is_gated) const { return (is_gated ? gated_experts_ : plain_experts_) != nullptr; }

  /// A GEMM, without casts of its operands; `is_half`: in half precision, whatever the others are in.
  double product_s(const GemmShape& shape, bool is_half) const;
  /// Forward pass of fused attention of `queries` tokens over shape.keys.
  double attention_s(const model::AttentionShape& shape, int queries, int batch) const;
  /// Forward pass of the layer's experts.
  double experts_s(const model::Layer& layer, double tokens) const;

 private:
  const KernelLaw* attention_of(const model::AttentionShape& shape) const;
  double law_s(const KernelLaw& law, const KernelWork& work) const { return law.seconds(work, peaks_) / speed_; }

  std::shared_ptr<const KernelLaws> laws_;
  KernelPeaks peaks_;
  KernelPrecision precision_;
  double speed_;
  const KernelLaw *product_, *half_product_, *paged_, *unmasked_, *latent_, *gated_experts_, *plain_experts_;
};

}  // namespace cost
}  // namespace lockstep::sim
