#pragma once
// Lists the kernels of one token layer with their FLOP and memory traffic. Only sim/cost includes this file.
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::sim::cost {

struct Kernel {
  double flop;
  double elements;            ///< elements read and written
  bool is_attention = false;  ///< GEMMs between activations in one kernel, as in fused attention
};

struct Kernels {
  std::vector<Kernel> forward, backward;
};

/// Adds a GEMM: one kernel forward, and two of the same size backward (gradients of input and weight).
void add_gemm(Kernels& kernels, double flop, double elements);
/// Adds one memory-bound kernel per pass. `forward` and `backward` are the elements read and written.
void add_memory_kernel(Kernels& kernels, double forward, double backward);

/// Lists the kernels of a layer that carries a state from token to token (engine/model/recurrence.hpp), by its rule.
/// Symbols: n = b T tokens of a batch, W = H P values, K = G N keys (of all heads H N), chunks of C tokens.
/// There are n / C states of H P N elements in single precision (delta: half).
///
///   `per_head`     Kernels of mamba_ssm 2 (Dao & Gu 2024): convolution; state of each chunk, 2 n W N FLOP; states are
///                  passed on; GEMMs of keys and queries, 2 n C K; scan, 2 n W (C / 2 + N); gated norm.
///                  Backward: recomputes all but scan and norm, then gradients of states, values, keys, queries and of
///                  the GEMMs of keys and queries.
///   `per_channel`  Kernels of mamba_ssm 1 (Gu & Dao 2023): convolution, two GEMMs, one scan whose exponentials take as
///                  long as its traffic (assumed). Backward: recomputes the convolution and the steps.
///   `delta`        Kernels of flash-linear-attention (Yang et al. 2024): convolution, norms, GEMMs of keys, their
///                  inverse, two GEMMs with it, states in sequence, outputs, gated norm.
///                  Backward: recomputes the convolution, the GEMMs with the inverse, and the states.
///   `fixed`        Kernels of lightning attention (Qin et al. 2024): activation, one kernel, norm, gate.
///
/// The latency of the sequential pass over chunks is not modelled, so times for few tokens are too short.
///
Kernels list_recurrence_kernels(const model::Layer& layer, int batch);

}  // namespace lockstep::sim::cost
