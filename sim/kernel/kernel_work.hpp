#pragma once
// Work of kernels and collectives, from which their laws predict times: FLOP, bytes, and the shape, which selects a
// law's correction. Shapes have the columns of the tables in results/kernels. c: bytes of an operand's element.
//
//   GEMM        y[m,n] = x[m,k] w[k,n]: 2 m n k FLOP; c (m k + k n) + max(2, c) m n bytes overlapped with them.
//               In eight or four bits, the cast of x streams another (2 + c) m k bytes.
//   Attention   4 batch heads d pairs FLOP.
//               Causal pairs: s (s + 1) / 2, with a window of w keys s w - w (w - 1) / 2.
//               Without a mask: s^2 pairs, with a window s min(2 w, s).
//               Rows are rounded up to tiles of 128, so FLOP include padding.
//               Streamed: 4 batch s d (heads + kv_heads) bytes; a paged cache adds 8 batch s d kv_heads.
//   MLA         DeepSeek's latent attention, causal: 2 batch heads (192 + 128) pairs FLOP.
//               Streamed: 4 batch heads s (192 + 128) bytes.
//   Experts     The local experts get r = tokens active / expert_ranks rows: 2 r hidden inner matrices FLOP, with inner
//               divided by tensor_ranks. Weights: c hidden inner matrices bytes for each local expert that has rows.
//               Streamed, 2 bytes each: (tokens + 2 r) hidden and matrices r inner elements (permuting, gate, weighted
//               sum).
//   Collective  Each of n GPUs sends W = 2 (n-1)/n S bytes in an all-reduce, (n-1)/n S in the others, in n - 1 hops.
//               S is the full buffer of a rank (input of all-reduce and reduce-scatter, output of all-gather, send
//               buffer of all-to-all).
//   Dispatch    Sends tokens to their experts, or back: W = tokens hidden element_bytes min(active, n) (n-1)/n. Each
//               rank gets at most one copy of a token.
//   Cast        element_bytes m k bytes: 2 are read, and 1 is written when scaled.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"

namespace lockstep::sim {
inline namespace kernel {

/// Arithmetic of a kernel's GEMMs. `fp8` has a scale per tensor, `fp8_block` one per 1x128 of x and 128x128 of w.
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

/// Returns the bytes of an operand's element; for nvfp4 with its scales.
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

/// Returns the names of the numbers in KernelWork::axes. These are no columns of tables: `mask_ratio` (sequence over
/// window), `group` (heads over kv_heads), `rows` (per local expert), `skew` (2^(5 exponent)).
const std::vector<std::string>& axis_names(KernelKind kind);

struct KernelWork {
  KernelKind kind = KernelKind::gemm;
  KernelPrecision precision = KernelPrecision::bf16;
  double flop = 0;
  double memory_bytes = 0;               ///< overlapped with the arithmetic; collective: bytes that each GPU sends
  double streamed_bytes = 0;             ///< before or after the arithmetic
  double hops = 0;                       ///< collective: GPUs less one
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
  double tokens = 0;             ///< of all expert ranks, before routing
  double hidden = 0, inner = 0;  ///< `inner` before division by tensor_ranks
  double active = 0;             ///< experts per token
  double experts = 0;            ///< of the whole layer, on all ranks
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
  double size_bytes = 0;  ///< the whole vector
};

struct DispatchShape {
  double tokens = 0, hidden = 0, active = 0, experts = 0, gpus = 0;
  double multiprocessors = 0;  ///< number that the kernel may use; 0: its own choice
  double element_bytes = 2;
};

struct CastShape {
  double m = 0, k = 0;
  double element_bytes = 3;  ///< bytes read and written per element
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
