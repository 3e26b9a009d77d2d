#pragma once
// Models attention and experts as their kernels, each by the roofline of layer_cost.hpp. Symbols: b samples in a batch,
// a bytes per activation, T queries, S keys, h heads, g heads of keys and values, d features of a key, e of a value.
//
//   Elements: q = b T h d, k = b S (g (d - shared) + shared), v = b S g e, o = b T h e.
//   Computed pairs P: b h T S if unfused. Fused attention skips tiles that the mask hides entirely
//   (AttentionShape::seen_pairs), about half of the pairs under a causal mask.
//
// Fused attention (Dao et al. 2022, 2023; memory: their theorem 2 where heads fit on the chip):
//   Forward   one kernel:  2 P (d + e) FLOP,        (q + k + v + o) a bytes.
//   Backward  one kernel:  2 P (3 d + 2 e) FLOP,    (q + k + v + o of before, do; dq, dk, dv) a bytes.
//   The scores are computed again: five GEMMs in place of four, 2.5 times the forward pass where d = e.
// Unfused attention, one kernel per line (n = b h T S scores):
//   forward   heads transposed     2 (q + k + v) a bytes
//             scores               2 n d FLOP,  (q + k + n) a
//             scale and mask       2 n a
//             softmax              3 n a; in s bytes a score: n (a + s), 2 n s, n (s + a), scale and mask 2 n a each
//             dropout              2 n a, where it has one
//             weights times values 2 n e FLOP,  (n + v + o) a
//             heads merged         2 o a
//   backward  as much for the copies; products twice; mask 3 n a, softmax 2 n a, dropout 3 n a; in s bytes a score n (a + s),
//             3 n s, n (s + a), mask and scale 2 n a each
//
// Experts: k at work on a token, so r = b T k rows, spread over E experts of width f on tokens of width w; grouped
// products read the weights of every expert once, m = 2 matrices of w f, or 3 with a gate:
//   forward   permutation          (b T w + r w) a
//             inner products       2 r w f (m - 1) FLOP,  (r w + r f (m - 1) + E w f (m - 1)) a
//             activation, gate     (m r f) a
//             outer product        2 r f w FLOP,          (r f + r w + E w f) a
//             weighted sum         (r w + b T w) a
//   backward  as much for permutation and sum, which also needs what came out: r w a; products twice, by weights and by
//             inputs; activation and gate read m r f and write (m - 1) r f
// In eight and four bits the products' operands are made as those of other matrices (layer_cost.hpp): r w + r f elements
// forward, r w + r f (m - 1) backward.
// An expert has few rows of a batch, and each its own product: all of these kernels, and the copies by row below, take
// 1 / expert_efficiency of their rooflines.
// A router is a matrix and a softmax over its scores.
#include "sim/cost/layer_cost.hpp"

namespace lockstep::sim {
inline namespace cost {

/// `layer.kind`: attention, router, experts or recurrence (token_kernels.hpp). `input_needs`: whether the layer's inputs need a
/// gradient.
LayerCost token_cost(const model::Layer& layer, const DeviceCost& device, int batch, bool input_needs);
/// The seconds to reorder experts' rows. Rows from several ranks arrive ordered by rank. If a rank has several experts,
/// rows are copied into the experts' order and back. Each pass has 2 such kernels of 2 r w a bytes. `layer` has the
/// rank's experts and tokens; `load`: its rows over an even share. Source: Megatron-LM, token_dispatcher.py,
/// sort_chunks_by_idxs() in MoEAlltoAllTokenDispatcher's dispatch_postprocess() and combine_preprocess().
LayerCost row_order_cost(const model::Layer& layer, const DeviceCost& device, int batch, double load);
/// Whether the layer is one of these.
bool is_token_layer(const model::Layer& layer);
/// Counts the kernels of such a layer, forward and backward.
KernelCounts token_kernels(const model::Layer& layer, const DeviceCost& device);

}  // namespace cost
}  // namespace lockstep::sim
