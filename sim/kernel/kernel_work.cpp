#include "sim/kernel/kernel_work.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim {
inline namespace kernel {
namespace {

constexpr double kTileRows = 128;  // queries that an attention kernel processes at once
constexpr double kLatentFeatures = 192, kLatentValues = 128;

double rounded_up(double value, double unit) {
  return std::ceil(value / unit) * unit;
}

// Returns the pairs of query and key that a mask leaves visible, per head and sequence.
double visible_pairs(const AttentionKernelShape& shape) {
  const double s = shape.sequence;
  const double window = shape.window > 0 ? std::min(shape.window, s) : s;
  if (shape.is_causal) return s * window - window * (window - 1) / 2;
  return shape.window > 0 ? s * std::min(2 * window, s) : s * s;
}

}  // namespace

double operand_bytes(KernelPrecision precision) {
  switch (precision) {
    case KernelPrecision::fp32:
    case KernelPrecision::tf32:
      return 4;
    case KernelPrecision::bf16:
      return 2;
    case KernelPrecision::fp8:
    case KernelPrecision::fp8_block:
      return 1;
    case KernelPrecision::nvfp4:
      return 0.5 + 1.0 / 16;  // includes a scale of one byte per 16 elements
  }
  return 2;
}

const std::vector<std::string>& axis_names(KernelKind kind) {
  static const std::vector<std::string> gemm{"m", "n", "k"};
  static const std::vector<std::string> attention{"sequence", "batch_heads", "head_dim", "mask_ratio",
                                                  "window",   "group",       "batch",    "heads"};
  static const std::vector<std::string> mla{"sequence", "batch", "heads"};
  static const std::vector<std::string> experts{"rows",   "inner", "local_experts", "hidden",
                                                "active", "skew",  "expert_ranks"};
  static const std::vector<std::string> collective{"bytes", "gpus"};
  static const std::vector<std::string> dispatch{"tokens", "gpus", "multiprocessors", "hidden"};
  static const std::vector<std::string> cast{"m", "k"};
  switch (kind) {
    case KernelKind::gemm:
      return gemm;
    case KernelKind::attention:
      return attention;
    case KernelKind::mla:
      return mla;
    case KernelKind::experts:
      return experts;
    case KernelKind::collective:
      return collective;
    case KernelKind::dispatch:
      return dispatch;
    case KernelKind::cast:
      break;
  }
  return cast;
}

KernelWork gemm_work(const GemmShape& shape, KernelPrecision precision) {
  const double bytes = operand_bytes(precision), input = shape.m * shape.k;
  KernelWork work;
  work.kind = KernelKind::gemm;
  work.precision = precision;
  work.flop = 2 * shape.m * shape.n * shape.k;
  work.memory_bytes = bytes * (input + shape.n * shape.k) + std::max(2.0, std::min(bytes, 4.0)) * shape.m * shape.n;
  work.streamed_bytes = bytes < 2 ? (2 + bytes) * input : 0;
  work.axes = {shape.m, shape.n, shape.k};
  return work;
}

KernelWork attention_work(const AttentionKernelShape& shape, KernelPrecision precision) {
  const double kv_heads = shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
  const double window = shape.window > 0 ? std::min(shape.window, shape.sequence) : shape.sequence;
  const double rows = shape.batch * shape.sequence * shape.head_dim;
  const double padding = rounded_up(shape.sequence, kTileRows) / shape.sequence;
  KernelWork work;
  work.kind = KernelKind::attention;
  work.precision = precision;
  work.flop = 4 * shape.batch * shape.heads * shape.head_dim * visible_pairs(shape) * padding;
  work.streamed_bytes = 2 * rows * (2 * shape.heads + 2 * kv_heads) + (shape.has_cache ? 2 * rows * 4 * kv_heads : 0);
  work.axes = {shape.sequence, shape.batch * shape.heads,
               shape.head_dim, std::max(1.0, shape.sequence / window),
               window,         std::max(1.0, shape.heads / kv_heads),
               shape.batch,    shape.heads};
  return work;
}

KernelWork mla_work(const MlaShape& shape) {
  const double pairs = shape.sequence * (shape.sequence + 1) / 2;
  const double padding = rounded_up(shape.sequence, kTileRows) / shape.sequence;
  KernelWork work;
  work.kind = KernelKind::mla;
  work.flop = 2 * shape.batch * shape.heads * (kLatentFeatures + kLatentValues) * pairs * padding;
  work.streamed_bytes = 2 * 2 * shape.batch * shape.heads * shape.sequence * (kLatentFeatures + kLatentValues);
  work.axes = {shape.sequence, shape.batch, shape.heads};
  return work;
}

KernelWork experts_work(const ExpertsKernelShape& shape, KernelPrecision precision) {
  const double local = shape.experts / shape.expert_ranks, inner = shape.inner / shape.tensor_ranks;
  const double rows = shape.tokens * shape.active / shape.expert_ranks;
  const double matrices = shape.is_gated ? 3 : 2;
  KernelWork work;
  work.kind = KernelKind::experts;
  work.precision = precision;
  work.flop = 2 * rows * shape.hidden * inner * matrices;
  work.memory_bytes = std::min(local, rows) * shape.hidden * inner * matrices * operand_bytes(precision);
  work.streamed_bytes = 2 * ((shape.tokens + 2 * rows) * shape.hidden + matrices * rows * inner);
  work.axes = {std::max(1.0, rows / local), inner, local, shape.hidden, shape.active, std::exp2(5 * shape.skew),
               shape.expert_ranks};
  return work;
}

KernelWork collective_work(const CollectiveShape& shape) {
  const double once = shape.gpus > 0 ? (shape.gpus - 1) / shape.gpus : 0;
  KernelWork work;
  work.kind = KernelKind::collective;
  work.hops = shape.gpus - 1;
  work.memory_bytes = (shape.operation == CollectiveOperation::all_reduce ? 2 : 1) * once * shape.size_bytes;
  work.axes = {shape.size_bytes, shape.gpus};
  return work;
}

KernelWork dispatch_work(const DispatchShape& shape) {
  KernelWork work;
  work.kind = KernelKind::dispatch;
  work.hops = shape.gpus - 1;
  work.memory_bytes = shape.tokens * shape.hidden * shape.element_bytes * std::min(shape.active, shape.gpus) *
                      (shape.gpus - 1) / shape.gpus;
  work.axes = {shape.tokens, shape.gpus, std::max(1.0, shape.multiprocessors), shape.hidden};
  return work;
}

KernelWork cast_work(const CastShape& shape) {
  KernelWork work;
  work.kind = KernelKind::cast;
  work.memory_bytes = shape.element_bytes * shape.m * shape.k;
  work.axes = {shape.m, shape.k};
  return work;
}

}  // namespace kernel
}  // namespace lockstep::sim
