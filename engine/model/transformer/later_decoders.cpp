// Reads decoders of 2024 and later without experts.
#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

// Sets the number of a head's features that rotary positions rotate.
void turn_part(const ConfigReader& c, double otherwise, TransformerSpec& s) {
  s.rotary_features = static_cast<int>(s.head_dim * c.fraction("partial_rotary_factor", otherwise));
}

}  // namespace

// Phi-3 joins queries, keys and values in one matrix, gate and up in another. The number of parameters stays.
TransformerSpec phi3(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32064, 3072, 8192, 32, 32, 0, 0, 4096, false}, "silu");
  turn_part(c, 1, s);
  set_all_windows(c.nullable("sliding_window", 0), s);
  s.dropout = c.drops("resid_pdrop", 0);
  s.title = "Phi-3";
  return s;
}

// By default five layers have a window, then one has none.
TransformerSpec gemma3(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {262208, 2304, 9216, 26, 8, 4, 256, 131072, true}, "gelu_pytorch_tanh");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.norm_place = NormPlace::both;
  s.qk_norm = true;
  const int window = c.whole("sliding_window", 4096);
  if (!set_windows_by_type(c, window, s)) {
    const int pattern = c.whole("sliding_window_pattern", 6);
    for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back((layer + 1) % pattern == 0 ? 0 : window);
  }
  s.title = "Gemma 3";
  return s;
}

TransformerSpec olmo2(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {50304, 4096, 11008, 32, 32, 0, 0, 2048, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.norm_place = NormPlace::behind;
  s.qk_norm_whole = true;
  s.title = "OLMo 2";
  return s;
}

// As OLMo 2, but by default three of four layers have a window.
TransformerSpec olmo3(const ConfigReader& c) {
  TransformerSpec s = olmo2(c);
  const int window = c.whole("sliding_window", 4096);
  if (!set_windows_by_type(c, window, s))
    for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back((layer + 1) % 4 == 0 ? 0 : window);
  s.title = "OLMo 3";
  return s;
}

TransformerSpec glm(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {151552, 4096, 13696, 40, 32, 2, 128, 131072, false}, "silu");
  s.qkv_bias = c.boolean("attention_bias", true);
  turn_part(c, 0.5, s);
  s.title = "GLM-4";
  return s;
}

// It has norms before and after each part.
TransformerSpec glm4(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {151552, 4096, 13696, 40, 32, 2, 128, 131072, false}, "silu");
  s.qkv_bias = c.boolean("attention_bias", false);
  s.norm_place = NormPlace::both;
  turn_part(c, 0.5, s);
  s.title = "GLM-4";
  return s;
}

TransformerSpec smollm3(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {128256, 2048, 11008, 36, 16, 4, 0, 32768, true}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.inner_bias = c.boolean("mlp_bias", false);
  s.unturned_every = c.whole("no_rope_layer_interval", 4);
  c.must_be("use_sliding_window", false, "windows of SmolLM 3 are not known");
  s.title = "SmolLM 3";
  return s;
}

// As Llama. Its factors on embeddings, sums and scores cost nothing.
TransformerSpec granite(const ConfigReader& c) {
  TransformerSpec s = llama(c);
  s.title = "Granite";
  return s;
}

}  // namespace lockstep::model::families
