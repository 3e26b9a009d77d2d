// Decoders whose configurations differ from Llama's or GPT's in a few numbers.
#include <algorithm>

#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {

TransformerSpec internlm2(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {103168, 4096, 11008, 32, 32, 0, 0, 2048, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("bias", true);
  s.title = "InternLM 2";
  return s;
}

// The 13B model biases attention by distance (ALiBi) instead of rotary positions; neither has parameters.
TransformerSpec baichuan(const ConfigReader& c) {
  const bool is_13b = c.has("model_max_length") && !c.has("max_position_embeddings");
  TransformerSpec s = gated_decoder(c, {125696, 4096, 11008, 32, 32, 0, 0, 4096, false}, "silu");
  if (is_13b) {
    s.positions = PositionKind::none;
    s.context = c.whole("model_max_length", 4096);
  }
  s.title = "Baichuan";
  return s;
}

TransformerSpec seed_oss(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {155136, 4096, 27648, 64, 80, 8, 128, 524288, false}, "silu");
  s.qkv_bias = c.boolean("attention_bias", true);
  s.attention_out_bias = c.boolean("attention_out_bias", false);
  s.inner_bias = c.boolean("mlp_bias", false);
  s.title = "Seed-OSS";
  return s;
}

TransformerSpec stablelm(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {50304, 2560, 6912, 32, 32, 32, 0, 4096, false}, "silu");
  s.norm = LayerKind::layer_norm;
  s.qkv_bias = c.boolean("use_qkv_bias", false);
  s.rotary_features = static_cast<int>(s.head_dim * c.fraction("partial_rotary_factor", 0.25));
  c.must_be("qk_layernorm", false, "norms of each head with parameters of its own are not known");
  if (c.has("use_parallel_residual") && c.boolean("use_parallel_residual", false))
    s.norm_place = NormPlace::parallel_one;
  s.title = "StableLM";
  return s;
}

// Attention and feed-forward network run in parallel after one norm. It has no bias, so it counts as an RMS norm.
TransformerSpec cohere(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {256000, 8192, 22528, 40, 64, 0, 0, 8192, true}, "silu");
  s.norm_place = NormPlace::parallel_one;
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  c.must_be("use_qk_norm", false, "norms of each head with parameters of its own are not known");
  s.title = "Command R";
  return s;
}

// Nemotron-4 and Minitron: layer norms, a squared ReLU and no gate.
TransformerSpec nemotron(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {256000, 6144, 24576, 32, 48, 0, 0, 4096, false}, "relu2");
  s.gated = false;
  s.norm = LayerKind::layer_norm;
  s.rotary_features = static_cast<int>(s.head_dim * c.fraction("partial_rotary_factor", 0.5));
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.inner_bias = c.boolean("mlp_bias", false);
  s.title = "Nemotron";
  return s;
}

// Attention is biased by distance (ALiBi). Norms without bias count as RMS norms.
TransformerSpec mpt(const ConfigReader& c) {
  TransformerSpec s;
  s.hidden = c.whole("d_model", 2048);
  s.layers = c.whole("n_layers", 24, 1, kMostLayers);
  s.heads = s.kv_heads = c.whole("n_heads", 16);
  s.head_dim = share(c, "d_model", s.hidden, s.heads);
  s.inner = c.whole("expansion_ratio", 4) * s.hidden;
  s.vocabulary = c.whole("vocab_size", 50368);
  s.context = c.whole("max_seq_len", 2048);
  s.tied_output = c.boolean("tie_word_embeddings", true);
  const bool has_bias = !c.boolean("no_bias", true);
  s.qkv_bias = s.attention_out_bias = s.inner_bias = has_bias;
  s.norm = has_bias ? LayerKind::layer_norm : LayerKind::rms_norm;
  s.title = "MPT";
  return s;
}

TransformerSpec phimoe(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32064, 4096, 6400, 32, 32, 8, 0, 4096 * 32, false}, "silu");
  s.norm = LayerKind::layer_norm;
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.output_bias = c.boolean("lm_head_bias", false);
  set_all_windows(c.nullable("sliding_window", 0), s);
  s.mixture.count = c.whole("num_local_experts", 16);
  s.mixture.active = c.whole("num_experts_per_tok", 2, 1, s.mixture.count);
  s.mixture.inner = s.inner;
  s.title = "Phi-3.5-MoE";
  return s;
}

// Attention and experts have configurations of their own inside the model's. Norms have no bias.
TransformerSpec dbrx(const ConfigReader& c) {
  TransformerSpec s;
  s.hidden = c.whole("d_model", 2048);
  s.layers = c.whole("n_layers", 24, 1, kMostLayers);
  s.heads = c.whole("n_heads", 16);
  s.head_dim = share(c, "d_model", s.hidden, s.heads);
  s.vocabulary = c.whole("vocab_size", 32000);
  s.context = c.whole("max_seq_len", 2048);
  s.tied_output = c.boolean("tie_word_embeddings", false);
  const ConfigReader attention(c.at("attn_config"), "DbrxAttentionConfig"),
      experts(c.at("ffn_config"), "DbrxFFNConfig");
  s.kv_heads = attention.whole("kv_n_heads", 1);
  s.mixture.count = experts.whole("moe_num_experts", 4);
  s.mixture.active = experts.whole("moe_top_k", 1, 1, s.mixture.count);
  s.mixture.inner = s.inner = experts.whole("ffn_hidden_size", 3584);
  s.gated = true;
  s.activation = LayerKind::silu;
  s.norm = LayerKind::rms_norm;
  s.positions = PositionKind::rotary;
  s.rotary_features = s.head_dim;
  s.title = "DBRX";
  return s;
}

}  // namespace lockstep::model::families
