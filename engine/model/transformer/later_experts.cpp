// Reads decoders of 2024 and later with experts.
#include <algorithm>

#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

void leave_out_predicted_tokens(const ConfigReader& c, const std::string& key) {
  if (c.nullable(key, 0) > 0) c.note(key, 0, "the multi-token prediction modules are left out");
}

}  // namespace

// Each token uses one routed and one shared expert, in every layer or every second one. Three of four layers attend to
// chunks and have rotary positions. Norms of queries and keys have no parameters.
TransformerSpec llama4(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {202048, 5120, 8192, 48, 40, 8, 128, 4096 * 32, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  MixtureSpec& m = s.mixture;
  m.count = c.whole("num_local_experts", 16);
  m.active = c.whole("num_experts_per_tok", 1, 1, m.count);
  m.inner = m.shared_inner = s.inner;
  s.inner = c.whole("intermediate_size_mlp", 16384);
  m.every = c.whole("interleave_moe_layer_step", 1);
  m.phase = m.every - 1;
  s.unturned_every = 4;
  const int chunk = c.nullable("attention_chunk_size", 8192);
  s.chunked = chunk > 0;
  if (chunk > 0 && !set_windows_by_type(c, chunk, s))
    for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back((layer + 1) % s.unturned_every == 0 ? 0 : chunk);
  s.title = "Llama 4";
  return s;
}

TransformerSpec gpt_oss(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {201088, 2880, 2880, 36, 64, 8, 64, 131072, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", true);
  s.sinks = true;
  const int window = c.whole("sliding_window", 128);
  if (!set_windows_by_type(c, window, s))
    for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back(layer % 2 == 0 ? window : 0);
  MixtureSpec& m = s.mixture;
  m.count = c.whole("num_local_experts", 128);
  m.active = c.whole(c.given_of({"num_experts_per_tok", "experts_per_token"}), 4, 1, m.count);
  m.inner = s.inner;
  m.bias = m.balancing_bias = true;
  s.title = "gpt-oss";
  return s;
}

TransformerSpec glm4_moe(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {151552, 4096, 10944, 46, 96, 8, 0, 131072, false}, "silu");
  s.qkv_bias = c.boolean("attention_bias", false);
  s.qk_norm = c.boolean("use_qk_norm", false);
  s.rotary_features = static_cast<int>(s.head_dim * c.fraction("partial_rotary_factor", 0.5));
  MixtureSpec& m = s.mixture;
  m.count = c.whole("n_routed_experts", 128);
  m.active = c.whole("num_experts_per_tok", 8, 1, m.count);
  m.inner = c.whole("moe_intermediate_size", 1408);
  m.shared_inner = c.nullable("n_shared_experts", 1) * m.inner;
  m.first = c.whole("first_k_dense_replace", 1, 0);
  m.balancing_bias = true;
  leave_out_predicted_tokens(c, "num_nextn_predict_layers");
  s.title = "GLM-4 MoE";
  return s;
}

TransformerSpec minimax_m2(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {200064, 3072, 1536, 62, 48, 8, 128, 196608, false}, "silu");
  s.qk_norm_whole = c.boolean("use_qk_norm", true);
  s.rotary_features = std::min(s.head_dim, c.whole("rotary_dim", 64));
  MixtureSpec& m = s.mixture;
  m.count = c.whole("num_local_experts", 256);
  m.active = c.whole("num_experts_per_tok", 8, 1, m.count);
  m.inner = s.inner;
  m.shared_inner = c.nullable("shared_intermediate_size", 0);
  m.balancing_bias = c.boolean("use_routing_bias", true);
  if (c.has("attn_type_list"))
    for (const int kind : c.wholes("attn_type_list"))
      if (kind != 1) c.fail("attn_type_list", "layers of linear attention are not modelled", "a list of 1");
  leave_out_predicted_tokens(c, "num_mtp_modules");
  s.title = "MiniMax-M2";
  return s;
}

TransformerSpec olmoe(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {50304, 2048, 2048, 16, 16, 0, 0, 4096, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.qk_norm_whole = true;
  s.mixture.count = c.whole("num_experts", 64);
  s.mixture.active = c.whole("num_experts_per_tok", 8, 1, s.mixture.count);
  s.mixture.inner = s.inner;
  s.title = "OLMoE";
  return s;
}

}  // namespace lockstep::model::families
