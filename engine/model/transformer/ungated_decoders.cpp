// Reads decoders after GPT-3 with layer norms and two matrices in the feed-forward network.
#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

void set_heads(const ConfigReader& c, const std::string& hidden, TransformerSpec& s) {
  s.kv_heads = s.heads;
  s.head_dim = share(c, hidden, s.hidden, s.heads);
}

void set_all_biases(bool has, TransformerSpec& s) {
  s.qkv_bias = s.attention_out_bias = s.inner_bias = has;
}

// Without rotary positions, attention is biased by distance (ALiBi), which costs nothing.
void set_positions(bool is_rotary, int features, TransformerSpec& s) {
  s.positions = is_rotary ? PositionKind::rotary : PositionKind::none;
  s.rotary_features = is_rotary ? features : 0;
}

}  // namespace

// Attention and feed-forward network run in parallel, after one shared norm or, in the new architecture, one each.
TransformerSpec falcon(const ConfigReader& c) {
  TransformerSpec s;
  s.title = "Falcon";
  s.vocabulary = c.whole("vocab_size", 65024);
  s.hidden = c.whole("hidden_size", 4544);
  s.layers = c.whole(c.given_of({"num_hidden_layers", "n_layer"}), 32, 1, kMostLayers);
  s.heads = c.whole(c.given_of({"num_attention_heads", "n_head"}), 71);
  set_heads(c, "hidden_size", s);
  const bool is_new = c.boolean("new_decoder_architecture", false);
  if (is_new)
    s.kv_heads = c.whole_or(c.given_of({"num_kv_heads", "n_head_kv"}), s.heads);
  else if (c.boolean("multi_query", true))
    s.kv_heads = 1;
  s.inner = c.whole_or("ffn_hidden_size", 4 * s.hidden);
  s.activation = c.activation("activation", "gelu");
  s.context = c.whole_or("max_position_embeddings", 2048);
  set_positions(!c.boolean("alibi", false), s.head_dim, s);
  set_all_biases(c.boolean("bias", false), s);
  const bool is_parallel = is_new || c.boolean("parallel_attn", true);
  const bool has_two_norms = is_new && c.whole_or("num_ln_in_parallel_attn", 2) == 2;
  s.norm_place = !is_parallel ? NormPlace::before : has_two_norms ? NormPlace::parallel : NormPlace::parallel_one;
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.dropout = c.drops("hidden_dropout", 0);
  s.attention_dropout = c.drops("attention_dropout", 0);
  return s;
}

TransformerSpec bloom(const ConfigReader& c) {
  TransformerSpec s;
  s.title = "BLOOM";
  const std::string hidden = c.given_of({"hidden_size", "n_embed"});
  s.vocabulary = c.whole("vocab_size", 250880);
  s.hidden = c.whole(hidden, 64);
  s.layers = c.whole(c.given_of({"n_layer", "num_hidden_layers"}), 2, 1, kMostLayers);
  s.heads = c.whole(c.given_of({"n_head", "num_attention_heads"}), 8);
  set_heads(c, hidden, s);
  s.inner = c.whole_or("n_inner", 4 * s.hidden);
  s.context = c.whole_or("seq_length", 2048);
  set_positions(false, 0, s);
  set_all_biases(true, s);
  s.embedding_norm = true;
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.dropout = c.drops("hidden_dropout", 0);
  s.attention_dropout = c.drops("attention_dropout", 0);
  c.must_be("apply_residual_connection_post_layernorm", false, "sums of what a norm gives are not known");
  return s;
}

TransformerSpec gptj(const ConfigReader& c) {
  TransformerSpec s;
  s.title = "GPT-J";
  s.vocabulary = c.whole("vocab_size", 50400);
  s.hidden = c.whole("n_embd", 4096);
  s.layers = c.whole("n_layer", 28, 1, kMostLayers);
  s.heads = c.whole("n_head", 16);
  set_heads(c, "n_embd", s);
  s.inner = c.whole_or("n_inner", 4 * s.hidden);
  s.context = c.whole("n_positions", 2048);
  s.activation = c.activation("activation_function", "gelu_new");
  set_positions(true, c.whole_or("rotary_dim", 64), s);
  s.inner_bias = s.output_bias = true;
  s.norm_place = NormPlace::parallel_one;
  s.tied_output = c.boolean("tie_word_embeddings", false);
  s.dropout = c.drops("resid_pdrop", 0);
  s.attention_dropout = c.drops("attn_pdrop", 0);
  return s;
}

TransformerSpec phi(const ConfigReader& c) {
  TransformerSpec s;
  s.title = "Phi";
  s.vocabulary = c.whole("vocab_size", 51200);
  s.hidden = c.whole("hidden_size", 2048);
  s.layers = c.whole("num_hidden_layers", 24, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", 32);
  set_heads(c, "hidden_size", s);
  s.kv_heads = c.whole_or("num_key_value_heads", s.heads);
  s.inner = c.whole("intermediate_size", 8192);
  s.context = c.whole("max_position_embeddings", 2048);
  s.activation = c.activation("hidden_act", "gelu_new");
  set_positions(true, static_cast<int>(s.head_dim * c.fraction("partial_rotary_factor", 0.5)), s);
  set_all_biases(true, s);
  s.output_bias = true;
  s.norm_place = NormPlace::parallel_one;
  s.tied_output = c.boolean("tie_word_embeddings", false);
  s.dropout = c.drops("resid_pdrop", 0);
  c.must_be("qk_layernorm", false, "norms of queries and keys are not known in Phi");
  return s;
}

// As GPT-2, but it has one head of keys and values; with "multi_query": false, one per query head.
TransformerSpec gpt_bigcode(const ConfigReader& c) {
  TransformerSpec s = gpt2(c);
  s.title = "GPT BigCode";
  if (c.boolean("multi_query", true)) s.kv_heads = 1;
  return s;
}

TransformerSpec starcoder2(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {49152, 3072, 12288, 30, 24, 2, 0, 4096, true}, "gelu_pytorch_tanh");
  s.gated = false;
  s.norm = LayerKind::layer_norm;
  set_all_biases(c.boolean("use_bias", true), s);
  set_all_windows(c.nullable("sliding_window", 0), s);
  s.dropout = c.drops("residual_dropout", 0);
  s.title = "StarCoder 2";
  return s;
}

}  // namespace lockstep::model::families
