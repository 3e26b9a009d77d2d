#pragma once
// Models attention and experts as their kernels, each by the roofline of layer_cost.hpp. A batch has b samples of T
// queries and S keys, with a bytes per activation. There are h heads of queries, and g heads of keys and values. A key
// has d features, a value has e.
//
//   Elements: q = b T h d, k = b S (g (d - shared) + shared), v = b S g e, o = b T h e.
//   Computed pairs P: b h T S if unfused. Fused attention skips tiles that the mask hides entirely
//   (AttentionShape::seen_pairs), about half of the pairs under a causal mask.
//
// Fused attention (Dao et al. 2022, 2023; memory traffic: their theorem 2, for heads that fit on the chip):
//   Forward   one kernel:  2 P (d + e) FLOP,        (q + k + v + o) a bytes.
//   Backward  one kernel:  2 P (3 d + 2 e) FLOP,    (q + k + v + o of before, do; dq, dk, dv) a bytes.
//   The scores are recomputed: five GEMMs in place of four, 2.5 times the forward pass if d = e.
// Unfused attention, one kernel per line (n = b h T S scores):
//   Forward   `heads transposed     2 (q + k + v) a bytes`
//             `scores               2 n d FLOP,  (q + k + n) a`
//             `scale and mask       2 n a`
//             `softmax              3 n a; in s bytes a score: n (a + s), 2 n s, n (s + a), scale and mask 2 n a each`
//             `dropout              2 n a, where it has one`
//             `weights times values 2 n e FLOP,  (n + v + o) a`
//             `heads merged         2 o a`
//   Backward: The copies take the same bytes, and there are twice the GEMMs. Mask 3 n a, softmax 2 n a, dropout 3 n a.
//             In s bytes a score: n (a + s), 3 n s, n (s + a), mask and scale 2 n a each.
//
// Experts: Each token goes to k experts, so there are r = b T k rows. They are spread over E experts of width f on
// tokens of width w. Grouped GEMMs read the weights of every expert once, m = 2 matrices of w f, or 3 with a gate:
//   Forward   `permutation          (b T w + r w) a`
//             `inner GEMMs          2 r w f (m - 1) FLOP,  (r w + r f (m - 1) + E w f (m - 1)) a`
//             `activation, gate     (m r f) a`
//             `outer GEMM           2 r f w FLOP,          (r f + r w + E w f) a`
//             `weighted sum         (r w + b T w) a`
//   Backward: Permutation and sum take the same bytes; the sum also reads its inputs again, r w a. There are twice the
//             GEMMs, by weights and by inputs. Activation and gate read m r f and write (m - 1) r f.
// In eight and four bits the GEMMs' operands are cast as those of other matrices (layer_cost.hpp): r w + r f elements
// forward, r w + r f (m - 1) backward.
// An expert gets only few rows of a batch, and each expert has its own GEMM. All of these kernels, and the row copies
// of row_order_cost(), therefore take 1 / expert_efficiency times their rooflines.
// A router is a matrix and a softmax over its scores.
#include "sim/cost/layer_cost.hpp"

namespace lockstep::sim {
inline namespace cost {

/// The layer's kind must be attention, router, experts or recurrence (token_kernels.hpp). `input_needs`: its inputs
/// need a gradient.
LayerCost token_cost(const model::Layer& layer, const DeviceCost& device, int batch, bool input_needs);
/// Returns the seconds to reorder experts' rows. Rows from several ranks arrive ordered by rank. If a rank has several
/// experts, rows are copied into the experts' order and back: two kernels of 2 r w a bytes per pass. `layer` has the
/// rank's experts and tokens. `load` is its rows over an even share. Source: Megatron-LM, token_dispatcher.py,
/// sort_chunks_by_idxs() in MoEAlltoAllTokenDispatcher's dispatch_postprocess() and combine_preprocess().
LayerCost row_order_cost(const model::Layer& layer, const DeviceCost& device, int batch, double load);
/// True if the layer's kind is one of token_cost()'s.
bool is_token_layer(const model::Layer& layer);
/// Counts the kernels of a token layer in the forward and the backward pass.
KernelCounts token_kernels(const model::Layer& layer, const DeviceCost& device);

}  // namespace cost
}  // namespace lockstep::sim
