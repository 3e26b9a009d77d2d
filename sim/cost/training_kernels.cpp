#include "sim/cost/training_kernels.hpp"

#include <algorithm>

namespace lockstep::sim {
inline namespace cost {
namespace {

constexpr double kTile = 128;  // keys that an attention kernel processes at once

// DeepSeek-V2 and V3 have 128 features without positions and 64 with positions, and values of 128 features.
bool is_latent(const model::AttentionShape& shape) {
  return shape.causal && shape.shared_dim > 0 && shape.head_dim == 192 && shape.value_dim == 128;
}

// fp16 is as fast as bf16. Single precision has no other law.
KernelPrecision half_of(KernelPrecision precision) {
  const bool is_single = precision == KernelPrecision::fp32 || precision == KernelPrecision::tf32;
  return is_single ? precision : KernelPrecision::bf16;
}

}  // namespace

TrainingKernels::TrainingKernels(std::shared_ptr<const KernelLaws> laws, const KernelPeaks& peaks,
                                 KernelPrecision precision, KernelSpeeds speeds)
    : laws_(std::move(laws)), peaks_(peaks), precision_(precision), speeds_(speeds) {
  const KernelPrecision half = half_of(precision);
  product_ = laws_->find(kernel_law_name(KernelKind::gemm, "", precision)).law;
  half_product_ = laws_->find(kernel_law_name(KernelKind::gemm, "", half)).law;
  paged_ = laws_->find(kernel_law_name(KernelKind::attention, "context", half)).law;
  unmasked_ = laws_->find(kernel_law_name(KernelKind::attention, "encoder", half)).law;
  latent_ = laws_->find(kernel_law_name(KernelKind::mla, "cache in bf16", half)).law;
  gated_experts_ = laws_->find(kernel_law_name(KernelKind::experts, "", precision)).law;
  plain_experts_ = laws_->find(kernel_law_name(KernelKind::experts, "ungated", precision)).law;
  if (plain_experts_ == nullptr) plain_experts_ = gated_experts_;
}

double TrainingKernels::product_s(const GemmShape& shape, bool is_half, double added_bytes) const {
  // A law in fewer bits includes the start-up time of the casts that were timed with it.
  const auto seconds = [&](const KernelLaw& law, KernelPrecision precision, double speed) {
    KernelWork work = gemm_work(shape, precision);
    work.memory_bytes += added_bytes;
    work.streamed_bytes = 0;
    const double casts_start_s = std::max(0.0, law.roofline->start_s - half_product_->roofline->start_s);
    const double at_peak_s = work.flop / peaks_.peak_flop_per_s(precision);
    return std::max(at_peak_s, law.seconds(work, peaks_) - casts_start_s) / speed;
  };
  const KernelPrecision half = half_of(precision_);
  if (is_half) return seconds(*half_product_, half, speeds_.in_half);
  return seconds(*product_, precision_, speeds_.in_precision);
}

const KernelLaw* TrainingKernels::attention_of(const model::AttentionShape& shape) const {
  if (is_latent(shape) && latent_ != nullptr) return latent_;
  return unmasked_ != nullptr ? unmasked_ : paged_;
}

// Queries may be a part of the sequence, as on a context rank. The law is evaluated for the whole sequence.
double TrainingKernels::attention_s(const model::AttentionShape& shape, int queries, int batch) const {
  const KernelPrecision half = half_of(precision_);
  const double keys = shape.keys, seen = static_cast<double>(shape.seen_pairs(queries));
  const auto law_s = [&](const KernelLaw& law, const KernelWork& work) {
    return law.seconds(work, peaks_) / speeds_.in_half;
  };
  const double share_of_seen = seen / static_cast<double>(shape.seen_pairs(shape.keys));
  if (is_latent(shape) && latent_ != nullptr)
    return share_of_seen * law_s(*latent_, mla_work({double(batch), keys, double(shape.heads)}));
  AttentionKernelShape kernel;
  kernel.batch = batch;
  kernel.sequence = keys;
  kernel.heads = shape.heads;
  kernel.kv_heads = shape.kv_heads;
  kernel.head_dim = (shape.head_dim + shape.value_dim) / 2.0;
  if (unmasked_ == nullptr) {
    kernel.is_causal = shape.causal;
    kernel.window = shape.window;
    return share_of_seen * law_s(*paged_, attention_work(kernel, half));
  }
  kernel.is_causal = false;
  const double edges = shape.causal ? kTile / 2 * queries : 0;
  return std::min(1.0, (seen + edges) / (keys * keys)) * law_s(*unmasked_, attention_work(kernel, half));
}

double TrainingKernels::experts_s(const model::Layer& layer, double tokens) const {
  ExpertsKernelShape shape;
  shape.tokens = tokens;
  shape.hidden = layer.in.channels;
  shape.inner = layer.experts.inner;
  shape.active = layer.experts.active;
  shape.experts = layer.experts.count;
  shape.is_gated = layer.experts.gated;
  const KernelLaw& law = shape.is_gated ? *gated_experts_ : *plain_experts_;
  return law.seconds(experts_work(shape, precision_), peaks_) / speeds_.in_precision;
}

}  // namespace cost
}  // namespace lockstep::sim
