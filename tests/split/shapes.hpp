#pragma once
// Transformers for tests of sim/split.
#include "sim/split/transformer_shape.hpp"

namespace lockstep::sim {

/// Brown et al. 2020, as Korthikanti et al. 2022 count it: unfused attention with dropouts.
inline TransformerShape gpt(int layers, int hidden, int heads, int vocabulary, int sequence) {
  TransformerShape shape;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = shape.kv_heads = heads;
  shape.head_dim = hidden / heads;
  shape.inner = 4 * hidden;
  shape.vocabulary = vocabulary;
  shape.sequence = shape.position_rows = sequence;
  shape.positions = model::PositionKind::learned;
  shape.tied_output = true;
  shape.qkv_bias = shape.attention_out_bias = shape.inner_bias = true;
  shape.dropout = shape.attention_dropout = true;
  shape.has_fused_attention = false;
  return shape;
}

/// Touvron et al. 2023 and later: grouped queries, gated MLP, RMS norms, no biases.
inline TransformerShape llama(int layers, int hidden, int heads, int kv_heads, int inner, int vocabulary,
                              int sequence) {
  TransformerShape shape;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = heads;
  shape.kv_heads = kv_heads;
  shape.head_dim = hidden / heads;
  shape.inner = inner;
  shape.gated = true;
  shape.activation = model::LayerKind::silu;
  shape.norm = model::LayerKind::rms_norm;
  shape.positions = model::PositionKind::rotary;
  shape.vocabulary = vocabulary;
  shape.sequence = sequence;
  return shape;
}

inline model::MixtureSpec mixture(int count, int active, int inner, int shared_inner, int first) {
  model::MixtureSpec mixture;
  mixture.count = count;
  mixture.active = active;
  mixture.inner = inner;
  mixture.shared_inner = shared_inner;
  mixture.first = first;
  return mixture;
}

inline TransformerShape llama3_8b(int sequence = 8192) {
  return llama(32, 4096, 32, 8, 14336, 128256, sequence);
}

inline TransformerShape mixtral_8x7b(int sequence = 4096) {
  TransformerShape shape = llama(32, 4096, 32, 8, 14336, 32000, sequence);
  shape.mixture = mixture(8, 2, 14336, 0, 0);
  return shape;
}

inline TransformerShape deepseek_v3(int sequence = 4096) {
  TransformerShape shape = llama(61, 7168, 128, 128, 18432, 129280, sequence);
  shape.latent = {512, 1536, 128, 64, 128};
  shape.mixture = mixture(256, 8, 2048, 2048, 3);
  shape.mixture.balancing_bias = true;
  return shape;
}

}  // namespace lockstep::sim
