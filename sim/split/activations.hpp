#pragma once
// Counts the tensors that a layer of a transformer keeps from its forward to its backward pass.
//
// For a layer with layer norms, two matrices in the MLP, biases before dropouts, unfused attention and 2-byte elements,
// the sum is that of Korthikanti et al. 2022. (Equations 1, 2, 4 and 6 of "Reducing activation recomputation in large
// transformer models".)
//   `s b h (34 + 5 a s / h)`             On one GPU.
//   `s b h (10 + 24/t + 5 a s / (h t))`  On t tensor ranks.
//   `s b h (34/t + 5 a s / (h t))`       With sequence parallelism.
//   `34 s b h / t`                       Also with selective recomputation.
//   `2 s b h`                            With full recomputation: a layer's input.
// Other layers follow the same rule: count the inputs that the backward pass of a matrix, a norm or a non-linearity
// needs. Context ranks have s / c tokens each. Their scores are of s / c queries with s keys.
#include <set>
#include <string>
#include <vector>

#include "sim/split/transformer_shape.hpp"

namespace lockstep::sim::split {

struct Activation {
  std::string what;
  double bytes = 0;                ///< per micro-batch on a rank
  std::set<RecomputeModule> of{};  ///< recomputing any of these modules frees it
};

/// Bytes per element of activations, and of the inputs that GEMMs keep for their weights' gradients. Transformer
/// Engine keeps these in the format of the multiplication (transformer_engine/pytorch/module/layernorm_linear.py,
/// forward()).
struct ActivationBytes {
  double element, product_input;
  double gate;            ///< input of the MLP's non-linearity
  double experts_output;  ///< outputs of experts, until they are weighted
  /// Output of a gated MLP's non-linearity, which its product with the other half keeps; 0: both are one kernel. Counted
  /// if the matrix behind is frozen; a trained one keeps the product in its place.
  double multiplied = 0;
  /// With sequence parallelism, every tensor rank keeps the whole inputs that its GEMMs gather, not its part of them.
  bool has_gathered_inputs = false;
  /// Copy of the attention's output that its matrix reads in another order, per element; 0: none.
  double transposed_output = 0;

  ActivationBytes(double of_all = 2) : element(of_all), product_input(of_all), gate(of_all), experts_output(of_all) {}
};

/// Returns a layer's tensors in the order of the forward pass, without recomputation. Tensors of experts are those of
/// the busiest rank.
std::vector<Activation> layer_activations(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                                          const ActivationBytes& bytes);

/// Returns the bytes that a layer keeps with `spec.recompute`. For alternate_matrices, layers with experts or latent
/// attention count half of all matrices' outputs, because their matrices have no single order.
double kept_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer, const ActivationBytes& bytes);
/// Returns the bytes that are recomputed: those of layer_activations() less kept_bytes().
double recomputed_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                        const ActivationBytes& bytes);

/// Returns the bytes that the embedding keeps: the dropout's mask, and its input, which are indices of 8 bytes per
/// token.
double embedding_kept_bytes(const TransformerShape& shape, const ParallelSpec& spec);
/// The bytes that a loss needs per logit.
struct LossBytes {
  double kept;              ///< from the forward to the backward pass
  double working;           ///< largest amount in addition to `kept`
  bool is_chunked = false;  ///< computes the logits of a chunk of tokens at a time (tokens_of_loss_chunk())
};
/// Megatron-LM's vocabulary-parallel cross-entropy keeps exponentials in single precision in place of the logits. In
/// addition it holds the logits, or their gradients, in half precision.
constexpr LossBytes kMegatronLoss{4, 2};
/// PyTorch's cross_entropy() of logits.float() keeps logarithms. Its backward pass computes their gradients, then those
/// of the logits, all in single precision.
constexpr LossBytes kTorchLoss{4, 8};

/// A compiled or fused cross_entropy() of logits.float() keeps logits in half precision, and computes their gradients in
/// half precision.
constexpr LossBytes kFusedLoss{2, 2};
/// nanotron's cross-entropy keeps the softmax in single precision. In the forward pass it needs the logits, too
/// (nanotron/parallel/tensor_parallel/functional.py, _ShardedCrossEntropy).
constexpr LossBytes kNanotronLoss{4, 4};

/// Returns the number of tokens whose logits Liger's fused linear cross-entropy computes at a time: tokens /
/// ceil(vocabulary / hidden), rounded up to a power of 2. So a chunk's logits take about as much memory as all hidden
/// states (liger_kernel/ops/fused_linear_cross_entropy.py, fused_linear_cross_entropy_forward()).
double tokens_of_loss_chunk(double tokens, int vocabulary, int hidden);
/// Returns the bytes that a loss needs in addition to those that it keeps. A loss in chunks computes the gradients of
/// the output matrix chunk by chunk and adds them up, if `has_gradient`.
double loss_working_bytes(const TransformerShape& shape, const ParallelSpec& spec, double element_bytes,
                          const LossBytes& loss, bool has_gradient);
/// Returns the bytes that the loss keeps: the inputs of the final norm and of the output matrix, and the logits.
double loss_kept_bytes(const TransformerShape& shape, const ParallelSpec& spec, double element_bytes,
                       const LossBytes& loss = kMegatronLoss);

}  // namespace lockstep::sim::split
