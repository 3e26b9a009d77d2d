#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

constexpr int kRowsBeforePositions = 2;  // OPT's position table begins with two rows for padding

// Returns a decoder with biases on every matrix and layer norms before each part.
TransformerSpec biased() {
  TransformerSpec s;
  s.qkv_bias = s.attention_out_bias = s.inner_bias = true;
  s.positions = PositionKind::learned;
  return s;
}

void as_many_heads(const ConfigReader& c, const std::string& hidden, TransformerSpec& s) {
  s.kv_heads = s.heads;
  s.head_dim = share(c, hidden, s.hidden, s.heads);
}

// Reads [[["global", "local"], 12]]: a sequence of kinds, and the number of times it repeats.
std::vector<int> neo_windows(const ConfigReader& c, int window, int layers) {
  std::vector<int> windows;
  if (!c.has("attention_types")) {
    c.note("attention_types", "[[[\"global\", \"local\"], 12]]", "default of transformers' GPTNeoConfig");
    for (int layer = 0; layer < layers; ++layer) windows.push_back(layer % 2 == 1 ? window : 0);
    return windows;
  }
  for (const JsonNode& group : c.at("attention_types").items()) {
    const std::vector<JsonNode> parts = group.items();
    if (parts.size() != 2) group.fail("array of " + std::to_string(parts.size()), "allowed: [kinds, times]");
    const std::int64_t times = parts[1].integer(1, kMostLayers);
    for (std::int64_t i = 0; i < times; ++i)
      for (const JsonNode& kind : parts[0].items())
        windows.push_back(kind.choice({"global", "local"}) == "local" ? window : 0);
  }
  if (static_cast<int>(windows.size()) != layers)
    c.fail("attention_types", std::to_string(windows.size()) + " layers", "as many as num_layers");
  return windows;
}

}  // namespace

int share(const ConfigReader& c, const std::string& key, int total, int parts) {
  if (total % parts != 0)
    c.fail(key, std::to_string(total) + " features cannot be shared by " + std::to_string(parts) + " heads",
           "a multiple of the heads");
  return total / parts;
}

TransformerSpec gpt2(const ConfigReader& c) {
  TransformerSpec s = biased();
  s.title = "GPT-2";
  s.hidden = c.whole("n_embd", 768);
  s.layers = c.whole("n_layer", 12, 1, kMostLayers);
  s.heads = c.whole("n_head", 12);
  as_many_heads(c, "n_embd", s);
  s.inner = c.whole_or("n_inner", 4 * s.hidden);
  s.vocabulary = c.whole("vocab_size", 50257);
  s.context = s.position_rows = c.whole("n_positions", 1024);
  s.activation = c.activation("activation_function", "gelu_new");
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.dropout = c.drops("resid_pdrop", 0.1);
  s.attention_dropout = c.drops("attn_pdrop", 0.1);
  c.must_be("add_cross_attention", false, "attention to an encoder is not known in GPT-2");
  return s;
}

TransformerSpec gpt_neo(const ConfigReader& c) {
  TransformerSpec s = biased();
  s.title = "GPT-Neo";
  s.qkv_bias = false;
  s.hidden = c.whole("hidden_size", 2048);
  s.layers = c.whole("num_layers", 24, 1, kMostLayers);
  s.heads = c.whole("num_heads", 16);
  as_many_heads(c, "hidden_size", s);
  s.inner = c.whole_or("intermediate_size", 4 * s.hidden);
  s.vocabulary = c.whole("vocab_size", 50257);
  s.context = s.position_rows = c.whole("max_position_embeddings", 2048);
  s.activation = c.activation("activation_function", "gelu_new");
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.dropout = c.drops("resid_dropout", 0);
  s.attention_dropout = c.drops("attention_dropout", 0);
  s.windows = neo_windows(c, c.whole("window_size", 256), s.layers);
  return s;
}

TransformerSpec gpt_neox(const ConfigReader& c) {
  TransformerSpec s = biased();
  s.title = "GPT-NeoX";
  s.hidden = c.whole("hidden_size", 6144);
  s.layers = c.whole("num_hidden_layers", 44, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", 64);
  as_many_heads(c, "hidden_size", s);
  s.inner = c.whole("intermediate_size", 24576);
  s.vocabulary = c.whole("vocab_size", 50432);
  s.context = c.whole("max_position_embeddings", 2048);
  s.activation = c.activation("hidden_act", "gelu");
  s.tied_output = c.boolean("tie_word_embeddings", false);
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", true);
  if (c.boolean("use_parallel_residual", true)) s.norm_place = NormPlace::parallel;
  s.positions = PositionKind::rotary;
  s.rotary_features = static_cast<int>(s.head_dim * c.fraction("rotary_pct", 0.25));
  s.dropout = c.drops("hidden_dropout", 0);
  s.attention_dropout = c.drops("attention_dropout", 0);
  return s;
}

TransformerSpec opt(const ConfigReader& c) {
  TransformerSpec s = biased();
  s.title = "OPT";
  s.hidden = c.whole("hidden_size", 768);
  s.layers = c.whole("num_hidden_layers", 12, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", 12);
  as_many_heads(c, "hidden_size", s);
  s.inner = c.whole("ffn_dim", 3072);
  s.vocabulary = c.whole("vocab_size", 50272);
  s.context = c.whole("max_position_embeddings", 2048);
  s.position_rows = s.context + kRowsBeforePositions;
  s.embedding_width = c.whole_or("word_embed_proj_dim", s.hidden);
  s.activation = c.activation("activation_function", "relu");
  s.tied_output = c.boolean("tie_word_embeddings", true);
  const bool is_before = c.boolean("do_layer_norm_before", true);
  s.norm_place = is_before ? NormPlace::before : NormPlace::after;
  s.final_norm = is_before && !(c.has("_remove_final_layer_norm") && c.at("_remove_final_layer_norm").boolean());
  s.dropout = c.drops("dropout", 0.1);
  s.attention_dropout = c.drops("attention_dropout", 0);
  c.must_be("enable_bias", true, "OPT without biases is not known");
  c.must_be("layer_norm_elementwise_affine", true, "norms without parameters are not known");
  return s;
}

}  // namespace lockstep::model::families
