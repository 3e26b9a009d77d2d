// Reads decoders of further publishers. The defaults are those of each model's class in transformers 4 or 5. EXAONE,
// ChatGLM and DeepSeek have their classes in the repository of their weights.
#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

// By default three of four layers have a window. The fourth attends to all tokens and has no rotary positions.
void set_windows_by_number(const ConfigReader& c, int window, TransformerSpec& s) {
  s.unturned_every = c.has("sliding_window_pattern") ? c.whole("sliding_window_pattern", 4) : 4;
  if (window == 0 || set_windows_by_type(c, window, s)) return;
  for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back((layer + 1) % s.unturned_every == 0 ? 0 : window);
}

// The letters L (window) and G (all tokens) repeat; the last layer attends to all tokens.
bool set_windows_by_letters(const ConfigReader& c, int window, TransformerSpec& s) {
  if (!c.has("sliding_window_pattern") || !c.at("sliding_window_pattern").is_string()) return false;
  const std::string letters = c.at("sliding_window_pattern").text();
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos)
    c.fail("sliding_window_pattern", "\"" + letters + "\"", "letters L and G, or a whole number");
  s.unturned_every = static_cast<int>(letters.size());
  if (set_windows_by_type(c, window, s)) return true;
  for (int layer = 0; layer < s.layers; ++layer) {
    const bool is_local = letters[static_cast<std::size_t>(layer) % letters.size()] == 'L';
    s.windows.push_back(is_local && layer + 1 < s.layers ? window : 0);
  }
  return true;
}

}  // namespace

// Its norms have no parameters. They count as RMS norms, which adds less than 0.01 % to the parameters.
TransformerSpec olmo(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {50304, 4096, 11008, 32, 32, 0, 0, 2048, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.title = "OLMo";
  return s;
}

TransformerSpec exaone(const ConfigReader& c) {
  TransformerSpec s;
  s.hidden = c.whole("hidden_size", 4096);
  s.layers = c.whole(c.given_of({"num_layers", "num_hidden_layers"}), 32, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", 32);
  s.kv_heads = c.whole_or("num_key_value_heads", s.heads);
  s.head_dim = s.rotary_features =
      c.has("head_dim") ? c.whole("head_dim", 128) : share(c, "hidden_size", s.hidden, s.heads);
  s.inner = c.whole_or("intermediate_size", 4 * s.hidden);
  s.vocabulary = c.whole("vocab_size", 102400);
  s.context = c.whole("max_position_embeddings", 2048);
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.gated = true;
  s.activation = c.activation("activation_function", "silu");
  s.norm = LayerKind::rms_norm;
  s.positions = PositionKind::rotary;
  s.dropout = c.drops("embed_dropout", 0);
  s.attention_dropout = c.drops("attention_dropout", 0);
  s.title = "EXAONE";
  return s;
}

// Norms come after attention and after the network. With windows, only layers that have one turn queries and keys.
TransformerSpec exaone4(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {102400, 4096, 16384, 32, 32, 32, 0, 2048, false}, "silu");
  s.norm_place = NormPlace::behind;
  s.qk_norm = true;
  const int window = c.nullable("sliding_window", 4096);
  if (window > 0 && !set_windows_by_letters(c, window, s)) set_windows_by_number(c, window, s);
  s.title = "EXAONE 4";
  return s;
}

// Attention and network run in parallel after one norm. Layers without a window have no rotary positions.
TransformerSpec cohere2(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {256000, 8192, 22528, 40, 64, 0, 0, 8192, true}, "silu");
  s.norm_place = NormPlace::parallel_one;
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  set_windows_by_number(c, c.nullable("sliding_window", 4096), s);
  s.title = "Command R7B";
  return s;
}

TransformerSpec ernie4_5(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {103424, 1024, 3072, 18, 16, 2, 128, 131072, true}, "silu");
  s.qkv_bias = s.attention_out_bias = s.inner_bias = c.boolean("use_bias", false);
  s.title = "ERNIE 4.5";
  return s;
}

TransformerSpec ernie4_5_moe(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {103424, 2560, 12288, 28, 20, 4, 0, 131072, true}, "silu");
  s.qkv_bias = s.attention_out_bias = s.inner_bias = c.boolean("use_bias", false);
  MixtureSpec& m = s.mixture;
  m.count = c.whole(c.given_of({"moe_num_experts", "num_experts"}), 64);
  m.active = c.whole(c.given_of({"moe_k", "num_experts_per_tok"}), 6, 1, m.count);
  m.inner = c.whole("moe_intermediate_size", 1536);
  m.shared_inner = c.nullable("moe_num_shared_experts", 2) * m.inner;
  m.balancing_bias = true;
  m.first = c.whole("moe_layer_start_index", 1, 0);
  m.every = c.whole("moe_layer_interval", 1);
  m.phase = m.every - 1;
  const int last =
      c.has("moe_layer_end_index") ? static_cast<int>(c.at("moe_layer_end_index").integer(-1, s.layers)) : -1;
  if (last >= 0)
    for (int layer = last + 1; layer < s.layers; ++layer) m.dense_layers.push_back(layer);
  s.title = "ERNIE 4.5 MoE";
  return s;
}

// The network has no gate. Its activation's two numbers per layer are left out.
TransformerSpec apertus(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {131072, 4096, 14336, 32, 32, 0, 0, 65536, false}, "xielu");
  s.gated = false;
  s.qk_norm = true;
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.title = "Apertus";
  return s;
}

TransformerSpec arcee(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32000, 2560, 18432, 32, 32, 0, 0, 4096, false}, "relu2");
  s.gated = false;
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.inner_bias = c.boolean("mlp_bias", false);
  s.title = "AFM";
  return s;
}

TransformerSpec hunyuan_dense(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {290943, 4096, 11008, 32, 32, 0, 0, 2048, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.qk_norm = true;
  s.title = "HunYuan";
  return s;
}

// Reads the experts as DeepSeek's configurations name them. False: the model has none.
bool read_routed_experts(const ConfigReader& c, int default_inner, MixtureSpec& m) {
  m.count = c.nullable("n_routed_experts", 0);
  if (m.count == 0) return false;
  m.active = static_cast<int>(c.at("num_experts_per_tok").integer(1, m.count));
  m.inner = c.whole("moe_intermediate_size", default_inner);
  m.shared_inner = c.nullable("n_shared_experts", 0) * m.inner;
  return true;
}

TransformerSpec dots1(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {152064, 4608, 10944, 62, 32, 32, 0, 2048, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.qk_norm = true;
  if (read_routed_experts(c, 1408, s.mixture)) {
    s.mixture.first = c.nullable("first_k_dense_replace", 0);
    s.mixture.balancing_bias = true;
  }
  const int window = c.nullable("sliding_window", 0), first = c.whole("max_window_layers", 62, 0);
  if (window > 0 && first < s.layers) set_later_windows(c, window, first, s);
  s.title = "dots.llm1";
  return s;
}

// The first DeepSeek models have Llama's attention and the experts of DeepSeek-V2.
TransformerSpec deepseek_v1(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {102400, 4096, 11008, 30, 32, 32, 0, 2048, false}, "silu");
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  c.must_be("moe_layer_freq", 1, "layers with experts must follow each other");
  if (read_routed_experts(c, 1407, s.mixture)) s.mixture.first = c.whole("first_k_dense_replace", 0, 0);
  s.title = "DeepSeek";
  return s;
}

// Rotary positions turn half of a head's features.
TransformerSpec chatglm(const ConfigReader& c) {
  TransformerSpec s;
  s.hidden = c.whole("hidden_size", 4096);
  s.layers = c.whole("num_layers", 28, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", 32);
  s.kv_heads = c.has("multi_query_attention") && c.boolean("multi_query_attention", false)
                   ? c.whole("multi_query_group_num", 1)
                   : s.heads;
  s.head_dim = c.whole("kv_channels", 128);
  s.rotary_features = s.head_dim / 2;
  s.inner = c.whole("ffn_hidden_size", 13696);
  s.vocabulary = c.whole(c.given_of({"padded_vocab_size", "vocab_size"}), 65024);
  s.context = c.whole("seq_length", 2048);
  s.tied_output = c.boolean("tie_word_embeddings", false);
  s.gated = true;
  s.activation = LayerKind::silu;
  s.norm = c.boolean("rmsnorm", true) ? LayerKind::rms_norm : LayerKind::layer_norm;
  s.positions = PositionKind::rotary;
  const bool has_biases = c.boolean("add_bias_linear", false);
  s.attention_out_bias = s.inner_bias = has_biases;
  s.qkv_bias = has_biases || c.boolean("add_qkv_bias", false);
  s.dropout = c.drops("hidden_dropout", 0);
  s.attention_dropout = c.drops("attention_dropout", 0);
  c.must_be("position_encoding_2d", false, "the first ChatGLM-6B, with two kinds of positions, is not known");
  c.must_be("post_layer_norm", true, "a model without its last norm is not known");
  c.must_be("apply_residual_connection_post_layernorm", false, "sums after the norm are not known");
  s.title = "ChatGLM";
  return s;
}

// Positions are sines, which have no parameters.
TransformerSpec xglm(const ConfigReader& c) {
  TransformerSpec s;
  s.hidden = c.whole(c.given_of({"d_model", "hidden_size"}), 1024);
  s.layers = c.whole(c.given_of({"num_layers", "decoder_layers"}), 24, 1, kMostLayers);
  s.heads = s.kv_heads = c.whole(c.given_of({"attention_heads", "decoder_attention_heads"}), 16);
  s.head_dim = share(c, "d_model", s.hidden, s.heads);
  s.inner = c.whole(c.given_of({"ffn_dim", "decoder_ffn_dim"}), 4096);
  s.vocabulary = c.whole("vocab_size", 256008);
  s.context = c.whole("max_position_embeddings", 2048);
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.activation = c.activation("activation_function", "gelu");
  s.qkv_bias = s.attention_out_bias = s.inner_bias = true;
  s.dropout = c.drops("dropout", 0.1);
  s.attention_dropout = c.drops("attention_dropout", 0.1);
  s.title = "XGLM";
  return s;
}

}  // namespace lockstep::model::families
