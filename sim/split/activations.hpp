#pragma once
// What a layer of a transformer keeps from its forward to its backward pass, tensor by tensor.
//
// With layer norms, two matrices in the MLP, biases behind dropouts, unfused attention and 2-byte elements the sum is
// Korthikanti et al. 2022 ("Reducing activation recomputation in large transformer models", equations 1, 2, 4 and 6):
//   s b h (34 + 5 a s / h)            on one GPU
//   s b h (10 + 24/t + 5 a s / (h t)) on t tensor ranks
//   s b h (34/t + 5 a s / (h t))      with sequence parallelism
//   34 s b h / t                      and with selective recomputation
//   2 s b h                           full recomputation: a layer's input
// Other layers are counted by the same rules: what the backward pass of a matrix, a norm, a non-linearity needs of its
// inputs. Context ranks have s / c tokens each; scores are of s / c queries with s keys.
#include <set>
#include <string>
#include <vector>

#include "sim/split/transformer_shape.hpp"

namespace lockstep::sim::split {

struct Activation {
  std::string what;
  double bytes = 0;                ///< on a rank, of a micro-batch
  std::set<RecomputeModule> of{};  ///< recomputation of any of these frees it
};

/// Bytes of an element: of activations, and of what products keep of their inputs for their weights' gradients (Transformer
/// Engine keeps them in the format it multiplied: transformer_engine/pytorch/module/layernorm_linear.py, forward()).
struct ActivationBytes {
  double element, product_input;
  double gate;            ///< of what the MLP's non-linearity takes
  double experts_output;  ///< of the experts' outputs, until they are weighted

  ActivationBytes(double of_all = 2) : element(of_all), product_input(of_all), gate(of_all), experts_output(of_all) {}
};

/// Without recomputation, a layer's tensors in the order of the forward pass; of experts those of the busiest rank.
std::vector<Activation> layer_activations(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                                          const ActivationBytes& bytes);

/// What is kept of a layer, by `spec.recompute`. Of alternate matrices, in layers with experts or latent attention, whose
/// matrices have no one order, half of all matrices' outputs.
double kept_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer, const ActivationBytes& bytes);
/// All that a layer has while it is computed: layer_activations() and kept_bytes() differ by what is computed again.
double recomputed_bytes(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                        const ActivationBytes& bytes);

/// Of the embedding: the dropout's mask. Its input are indices, 8 bytes a token.
double embedding_kept_bytes(const TransformerShape& shape, const ParallelSpec& spec);
/// What a loss has of every logit, bytes.
struct LossBytes {
  double kept;     ///< from the forward to the backward pass
  double working;  ///< besides, at the most
};
/// Megatron-LM's vocabulary-parallel cross-entropy keeps exponentials in single precision, in the place of the logits; the
/// logits in half precision, or their gradients, besides.
constexpr LossBytes kMegatronLoss{4, 2};
/// PyTorch's cross_entropy() of logits.float() keeps logarithms; its backward pass makes their gradients and then those of
/// the logits, all in single precision.
constexpr LossBytes kTorchLoss{4, 8};

/// Of the loss: the final norm's input, the output matrix's, and the logits.
double loss_kept_bytes(const TransformerShape& shape, const ParallelSpec& spec, double element_bytes,
                       const LossBytes& loss = kMegatronLoss);

}  // namespace lockstep::sim::split
