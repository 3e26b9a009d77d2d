#pragma once
// Kernels of one layer of tokens by what they compute and move, for the files of this room.
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::sim::cost {

struct Kernel {
  double flop;
  double elements;            ///< read and written
  bool is_attention = false;  ///< products of activations in one kernel, as fused attention has them
};

struct Kernels {
  std::vector<Kernel> forward, backward;
};

/// A product of x and w: backward the gradients of both, each as large.
void add_product(Kernels& kernels, double flop, double elements);
/// A kernel that only reads and writes, in each pass.
void add_pass(Kernels& kernels, double forward, double backward);

/// Kernels of a layer that carries a state from token to token (engine/model/recurrence.hpp), by rule; n = b T tokens of a batch,
/// W = H P values, K = G N keys (of all heads H N), chunks of C tokens, n / C states of H P N elements in single precision:
///
///   per_head     mamba_ssm 2 (Dao & Gu 2024): convolution; state of each chunk, 2 n W N FLOP; states passed on; products of
///                keys and queries, 2 n C K; scan, 2 n W (C / 2 + N); gated norm. Backward everything but scan and norm again,
///                then gradients of states, values, keys, queries and their products
///   per_channel  mamba_ssm 1 (Gu & Dao 2023): convolution, two products, one scan whose exponentials take as long as its traffic
///                (assumed). Backward the convolution and the steps again
///   delta        flash-linear-attention (Yang et al. 2024): convolution, norms, products of keys, their inverse, two products
///                by it, states in sequence, outputs, gated norm. Backward the products by the inverse and the states again
///   fixed        lightning attention (Qin et al. 2024): activation, one kernel, norm, gate
///
/// A pass over the chunks one after the other has a latency that is not modelled: it shows in short batches.
Kernels recurrence_kernels(const model::Layer& layer, int batch);

}  // namespace lockstep::sim::cost
