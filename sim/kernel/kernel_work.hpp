#pragma once
// Kernels and collectives as their laws see them: operations, bytes, and the shape by which a law is corrected.
//
// A shape has the columns of AIConfigurator's tables (results/kernels). b: bytes of an operand's element.
//
//   GEMM        y[m,n] = x[m,k] w[k,n]:  2 m n k FLOP;  b (m k + k n) + 2 m n bytes;  in eight or four bits the cast of x
//               streams another (2 + b) m k bytes
//   attention   batch x heads, s queries and keys of d features, kv_heads of keys and values; a causal mask leaves
//               s (s + 1) / 2 pairs, a window of w at most s w - w (w - 1) / 2:  4 pairs d FLOP, rows rounded up to
//               tiles of 128;  2 b s d (2 heads + 2 kv_heads) bytes;  a cache of keys and values streams its copy
//   MLA         DeepSeek's latent attention, causal, 192 features of queries and keys, 128 of values
//   experts     r = tokens topk / expert ranks rows over the local experts:  2 r hidden inner matrices FLOP; the weights of
//               the experts that have rows; permuting, gating and the weighted sum stream (tokens + 2 r) hidden and
//               matrices r inner elements of 2 bytes
//   collective  2 (n-1)/n bytes sent and received by each GPU (all-reduce), (n-1)/n otherwise; n - 1 hops
//   dispatch    tokens to their experts and back: topk copies of a token at most, one per rank
//   cast        elements read in 2 bytes and, when scaled, written in 1
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"

namespace lockstep::sim {
inline namespace kernel {

/// Arithmetic of a kernel's products. `fp8`: a scale for a tensor; `fp8_block`: for blocks of 1x128 and 128x128.
enum class KernelPrecision { fp32, tf32, bf16, fp8, fp8_block, nvfp4 };

inline const Choices<KernelPrecision>& choices_of(KernelPrecision) {
  static const Choices<KernelPrecision> all{{KernelPrecision::fp32, "fp32"},
                                            {KernelPrecision::tf32, "tf32"},
                                            {KernelPrecision::bf16, "bf16", {"fp16", "mixed"}},
                                            {KernelPrecision::fp8, "fp8"},
                                            {KernelPrecision::fp8_block, "fp8_block", {"fp8-block"}},
                                            {KernelPrecision::nvfp4, "nvfp4", {"fp4"}}};
  return all;
}

/// Bytes of an operand's element, scales included.
double operand_bytes(KernelPrecision precision);

enum class KernelKind { gemm, attention, mla, experts, collective, dispatch, cast };

/// Names are those of AIConfigurator's tables.
inline const Choices<KernelKind>& choices_of(KernelKind) {
  static const Choices<KernelKind> all{{KernelKind::gemm, "gemm"},
                                       {KernelKind::attention, "attention"},
                                       {KernelKind::mla, "mla"},
                                       {KernelKind::experts, "moe", {"experts"}},
                                       {KernelKind::collective, "collectives", {"collective"}},
                                       {KernelKind::dispatch, "alltoall", {"dispatch"}},
                                       {KernelKind::cast, "quantize", {"cast"}}};
  return all;
}

constexpr std::size_t kMostAxes = 8;

/// Names of the numbers in KernelWork::axes.
const std::vector<std::string>& axis_names(KernelKind kind);

struct KernelWork {
  KernelKind kind = KernelKind::gemm;
  KernelPrecision precision = KernelPrecision::bf16;
  double flop = 0;
  double memory_bytes = 0;               ///< overlapped with the arithmetic; of a collective: that each GPU sends
  double streamed_bytes = 0;             ///< before or behind the arithmetic
  double hops = 0;                       ///< of a collective: GPUs less one
  std::array<double, kMostAxes> axes{};  ///< the shape, above 0; see axis_names()
};

struct GemmShape {
  double m = 0, n = 0, k = 0;
};

struct AttentionKernelShape {
  double batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool is_causal = true;
  double window = 0;       ///< tokens; 0: none
  bool has_cache = false;  ///< keys and values are copied into a paged cache
};

struct MlaShape {
  double batch = 0, sequence = 0, heads = 0;
};

struct ExpertsKernelShape {
  double tokens = 0, hidden = 0, inner = 0, active = 0, experts = 0;  ///< active: experts per token; all of the layer
  double tensor_ranks = 1, expert_ranks = 1;
  bool is_gated = true;
  double skew = 0;  ///< exponent of the power law of tokens over experts; 0: even
};

enum class CollectiveOperation { all_reduce, all_gather, reduce_scatter, all_to_all };

inline const Choices<CollectiveOperation>& choices_of(CollectiveOperation) {
  static const Choices<CollectiveOperation> all{
      {CollectiveOperation::all_reduce, "all_reduce", {"all-reduce"}},
      {CollectiveOperation::all_gather, "all_gather", {"all-gather"}},
      {CollectiveOperation::reduce_scatter, "reduce_scatter", {"reduce-scatter"}},
      {CollectiveOperation::all_to_all, "alltoall", {"all-to-all"}}};
  return all;
}

struct CollectiveShape {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  double gpus = 0;
  double size_bytes = 0;  ///< of the whole vector
};

struct DispatchShape {
  double tokens = 0, hidden = 0, active = 0, experts = 0, gpus = 0;
  double multiprocessors = 0;  ///< that it is given; 0: its own choice
  double element_bytes = 2;
};

struct CastShape {
  double m = 0, k = 0;
  double element_bytes = 3;  ///< read and written
};

KernelWork gemm_work(const GemmShape& shape, KernelPrecision precision);
KernelWork attention_work(const AttentionKernelShape& shape, KernelPrecision precision);
KernelWork mla_work(const MlaShape& shape);
KernelWork experts_work(const ExpertsKernelShape& shape, KernelPrecision precision);
KernelWork collective_work(const CollectiveShape& shape);
KernelWork dispatch_work(const DispatchShape& shape);
KernelWork cast_work(const CastShape& shape);

}  // namespace kernel
}  // namespace lockstep::sim
