#include <algorithm>

#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {

TransformerSpec gated_decoder(const ConfigReader& c, const DecoderDefaults& d, const char* activation) {
  TransformerSpec s;
  s.hidden = c.whole("hidden_size", d.hidden);
  s.layers = c.whole("num_hidden_layers", d.layers, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", d.heads);
  s.kv_heads = d.kv_heads > 0 ? c.whole("num_key_value_heads", d.kv_heads) : c.whole_or("num_key_value_heads", s.heads);
  s.head_dim = d.head_dim > 0      ? c.whole("head_dim", d.head_dim)
               : c.has("head_dim") ? c.whole("head_dim", 0)
                                   : share(c, "hidden_size", s.hidden, s.heads);
  s.inner = c.whole("intermediate_size", d.inner);
  s.vocabulary = c.whole("vocab_size", d.vocabulary);
  s.context = c.whole("max_position_embeddings", d.context);
  s.tied_output = c.boolean("tie_word_embeddings", d.tied);
  s.gated = true;
  s.activation = c.activation("hidden_act", activation);
  s.norm = LayerKind::rms_norm;
  s.positions = PositionKind::rotary;
  s.rotary_features = s.head_dim;
  s.attention_dropout = c.drops("attention_dropout", 0);
  return s;
}

bool set_windows_by_type(const ConfigReader& c, int window, TransformerSpec& s) {
  if (!c.has("layer_types")) return false;
  const std::vector<JsonNode> types = c.at("layer_types").items();
  if (static_cast<int>(types.size()) != s.layers)
    c.fail("layer_types", "array of " + std::to_string(types.size()), "as many as num_hidden_layers");
  for (const JsonNode& type : types)
    s.windows.push_back(
        type.choice({"full_attention", "sliding_attention", "chunked_attention"}) == "full_attention" ? 0 : window);
  return true;
}

void set_all_windows(int window, TransformerSpec& s) {
  if (window > 0) s.windows.assign(static_cast<std::size_t>(s.layers), window);
}

void set_later_windows(const ConfigReader& c, int window, int first, TransformerSpec& s) {
  if (set_windows_by_type(c, window, s)) return;
  for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back(layer >= first ? window : 0);
}

namespace {

void qwen2_windows(const ConfigReader& c, TransformerSpec& s) {
  const bool slides = c.has("use_sliding_window") && c.at("use_sliding_window").boolean();
  if (!slides) return;
  const int window = c.whole("sliding_window", 4096), first = c.whole("max_window_layers", 28, 0);
  set_later_windows(c, window, first, s);
}

void qwen_experts(const ConfigReader& c, int active, int count, TransformerSpec& s) {
  s.mixture.count = c.whole("num_experts", count);
  s.mixture.active = c.whole("num_experts_per_tok", active, 1, s.mixture.count);
  s.mixture.every = c.whole("decoder_sparse_step", 1);
  s.mixture.phase = s.mixture.every - 1;
  s.mixture.dense_layers = c.wholes("mlp_only_layers");
}

// Defaults for experts, which differ between the versions; active 0: none.
struct DeepSeekExperts {
  int count, shared, active, inner, first;
};
struct LatentDefaults {
  int q_rank, nope_dim, rope_dim, value_dim;
};
constexpr LatentDefaults kDeepSeekLatent{1536, 128, 64, 128};

TransformerSpec deepseek(const ConfigReader& c, const DecoderDefaults& d, const LatentDefaults& latent,
                         const DeepSeekExperts& e) {
  TransformerSpec s = gated_decoder(c, d, "silu");
  s.latent.kv_rank = c.whole("kv_lora_rank", 512);
  s.latent.q_rank = c.nullable("q_lora_rank", latent.q_rank);
  s.latent.nope_dim = c.whole("qk_nope_head_dim", latent.nope_dim);
  s.latent.rope_dim = c.whole("qk_rope_head_dim", latent.rope_dim);
  s.latent.value_dim = c.whole("v_head_dim", latent.value_dim);
  c.must_be("attention_bias", false, "biases in multi-latent attention are not known");
  c.must_be("moe_layer_freq", 1, "layers with experts must follow each other");
  MixtureSpec& m = s.mixture;
  m.count = c.nullable("n_routed_experts", e.count);
  if (m.count == 0) return s;
  m.active = e.active > 0 ? c.whole("num_experts_per_tok", e.active, 1, m.count)
                          : static_cast<int>(c.at("num_experts_per_tok").integer(1, m.count));
  m.inner = c.whole("moe_intermediate_size", e.inner);
  m.shared_inner = c.nullable("n_shared_experts", e.shared) * m.inner;
  m.first = c.whole("first_k_dense_replace", e.first, 0);
  return s;
}

}  // namespace

TransformerSpec llama(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32000, 4096, 11008, 32, 32, 0, 0, 2048, false}, "silu");
  const bool bias = c.boolean("attention_bias", false);
  s.qkv_bias = s.attention_out_bias = bias;
  s.inner_bias = c.boolean("mlp_bias", false);
  s.title = "Llama";
  return s;
}

TransformerSpec mistral(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32000, 4096, 14336, 32, 32, 8, 0, 4096 * 32, false}, "silu");
  s.title = "Mistral";
  set_all_windows(c.nullable("sliding_window", 4096), s);
  return s;
}

TransformerSpec ministral3(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {131072, 4096, 14336, 34, 32, 8, 128, 262144, false}, "silu");
  set_all_windows(c.nullable("sliding_window", 0), s);
  s.title = "Ministral 3";
  return s;
}

TransformerSpec mixtral(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32000, 4096, 14336, 32, 32, 8, 0, 4096 * 32, false}, "silu");
  set_all_windows(c.nullable("sliding_window", 0), s);
  s.mixture.count = c.whole("num_local_experts", 8);
  s.mixture.active = c.whole("num_experts_per_tok", 2, 1, s.mixture.count);
  s.mixture.inner = s.inner;
  s.title = "Mixtral";
  return s;
}

TransformerSpec qwen2(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {151936, 4096, 22016, 32, 32, 32, 0, 32768, false}, "silu");
  s.qkv_bias = true;
  qwen2_windows(c, s);
  s.title = "Qwen 2";
  return s;
}

TransformerSpec qwen3(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {151936, 4096, 22016, 32, 32, 32, 128, 32768, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.qk_norm = true;
  qwen2_windows(c, s);
  s.title = "Qwen 3";
  return s;
}

TransformerSpec qwen2_moe(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {151936, 2048, 5632, 24, 16, 16, 0, 32768, false}, "silu");
  s.qkv_bias = true;
  qwen2_windows(c, s);
  qwen_experts(c, 4, 60, s);
  s.mixture.inner = c.whole("moe_intermediate_size", 1408);
  s.mixture.shared_inner = c.whole("shared_expert_intermediate_size", 5632);
  s.mixture.shared_gate = true;
  s.title = "Qwen 2 MoE";
  return s;
}

TransformerSpec qwen3_moe(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {151936, 2048, 6144, 24, 32, 4, 0, 32768, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.qk_norm = true;
  qwen2_windows(c, s);
  qwen_experts(c, 8, 128, s);
  s.mixture.inner = c.whole("moe_intermediate_size", 768);
  s.title = "Qwen 3 MoE";
  return s;
}

// Older files have "hidden_act", whose "gelu" meant the same function as the later "hidden_activation".
TransformerSpec gemma(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {256000, 3072, 24576, 28, 16, 16, 256, 8192, true}, "gelu_pytorch_tanh");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.title = "Gemma";
  return s;
}

TransformerSpec gemma2(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {256000, 2304, 9216, 26, 8, 4, 256, 8192, true}, "gelu_pytorch_tanh");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.norm_place = NormPlace::both;
  const int window = c.whole("sliding_window", 4096);
  if (!set_windows_by_type(c, window, s))
    for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back(layer % 2 == 0 ? window : 0);
  s.title = "Gemma 2";
  return s;
}

TransformerSpec deepseek_v2(const ConfigReader& c) {
  TransformerSpec s =
      deepseek(c, {32000, 4096, 11008, 32, 32, 0, 0, 2048, false}, kDeepSeekLatent, {64, 2, 0, 1407, 0});
  s.title = "DeepSeek-V2";
  return s;
}

TransformerSpec deepseek_v3(const ConfigReader& c) {
  TransformerSpec s =
      deepseek(c, {129280, 7168, 18432, 61, 128, 128, 0, 4096, false}, kDeepSeekLatent, {256, 1, 8, 2048, 3});
  s.mixture.balancing_bias = s.mixture.count > 0;
  if (c.nullable("num_nextn_predict_layers", 0) > 0)
    c.note("num_nextn_predict_layers", 0, "the multi-token prediction module is left out");
  s.title = "DeepSeek-V3";
  return s;
}

// GLM-4.7-Flash has DeepSeek-V3's layers. By default only the first has no experts.
TransformerSpec glm4_moe_lite(const ConfigReader& c) {
  TransformerSpec s =
      deepseek(c, {154880, 2048, 10240, 47, 20, 20, 64, 202752, false}, {768, 192, 64, 256}, {64, 1, 4, 1536, 1});
  s.mixture.balancing_bias = s.mixture.count > 0;
  if (c.nullable("num_nextn_predict_layers", 0) > 0)
    c.note("num_nextn_predict_layers", 0, "the multi-token prediction module is left out");
  if (c.has("mlp_layer_types")) {
    const std::vector<JsonNode> types = c.at("mlp_layer_types").items();
    if (static_cast<int>(types.size()) != s.layers)
      c.fail("mlp_layer_types", "array of " + std::to_string(types.size()), "as many as num_hidden_layers");
    s.mixture.first = 0;
    for (int layer = 0; layer < s.layers; ++layer)
      if (types[static_cast<std::size_t>(layer)].choice({"dense", "sparse"}) == "dense")
        s.mixture.dense_layers.push_back(layer);
  }
  s.title = "GLM-4.7 Flash";
  return s;
}

}  // namespace lockstep::model::families
