#pragma once
// Transformers whose parameters are published, for the tests of this room.
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
  shape.sequence = shape.positions = sequence;
  shape.ties_embedding = true;
  shape.has_biases = true;
  shape.dropout = 0.1;
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
  shape.is_gated = true;
  shape.vocabulary = vocabulary;
  shape.sequence = sequence;
  shape.norm = NormKind::rms;
  return shape;
}

inline TransformerShape llama3_8b(int sequence = 8192) {
  return llama(32, 4096, 32, 8, 14336, 128256, sequence);
}

inline TransformerShape mixtral_8x7b(int sequence = 4096) {
  TransformerShape shape = llama(32, 4096, 32, 8, 14336, 32000, sequence);
  shape.experts = ExpertShape{8, 2, 14336, 0, 0};
  return shape;
}

inline TransformerShape deepseek_v3(int sequence = 4096) {
  TransformerShape shape = llama(61, 7168, 128, 128, 18432, 129280, sequence);
  shape.head_dim = 128;
  shape.latent = LatentAttention{1536, 512, 64, 128};
  shape.experts = ExpertShape{256, 8, 2048, 2048, 3};
  return shape;
}

}  // namespace lockstep::sim
