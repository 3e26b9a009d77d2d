#pragma once
// Parts of networks that are more than one stack of layers (towers, diffusion), appended to a GraphBuilder.
#include <string>

#include "engine/model/graph.hpp"

namespace lockstep::model {

struct AttentionPart {
  int heads = 0;
  int head_dim = 0;
  bool qv_bias = true, k_bias = true, out_bias = true;
  bool causal = false;
  int norm_width = 0;  ///< RMS norm of queries and keys over this many features; 0: none
  bool rotary = false;
};

/// Appends parts to `net`. Norms are layer norms, except the RMS norms of queries and keys. Attention is fused.
class TokenBlocks {
 public:
  explicit TokenBlocks(GraphBuilder& net) : net_(net) {}

  int layer_norm(const std::string& name, int at) { return net_.norm(name, LayerKind::layer_norm, at); }
  /// Adds attention with queries from `at` and keys and values from `memory`; the output is as wide as `at`.
  int attention(const std::string& name, int at, int memory, const AttentionPart& part);
  /// Two matrices with biases and `activation` between them. If gated, the first is twice as wide.
  int network(const std::string& name, int at, int inner, LayerKind activation, bool is_gated = false);
  /// x + attention(norm(x)), then x + network(norm(x)).
  int pre_norm_block(const std::string& name, int at, const AttentionPart& part, int inner, LayerKind activation);
  /// Appends a further input of the sample, such as the text of an image, that has neither parameters nor FLOP.
  int add_input(const std::string& name, int tokens, int features);
  /// Appends a norm without parameters, scaled and shifted by a vector of the sample (adaptive layer norm).
  int add_modulated_norm(const std::string& name, int at, int vector);
  /// Takes one vector through two matrices with biases and a SiLU between them.
  int vector_network(const std::string& name, int at, int inner, int out);

 private:
  GraphBuilder& net_;
};

}  // namespace lockstep::model
