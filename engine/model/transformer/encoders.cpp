#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

// An encoder with post-norm layers, biases and learned positions; not causal.
TransformerSpec encoder_of_masked_words() {
  TransformerSpec s;
  s.qkv_bias = s.attention_out_bias = s.inner_bias = s.output_bias = true;
  s.positions = PositionKind::learned;
  s.norm_place = NormPlace::after;
  s.embedding_norm = true;
  s.final_norm = false;
  s.causal = false;
  s.objective = Objective::masked_token;
  return s;
}

// BERT and RoBERTa differ in their tables and in their training objective.
TransformerSpec masked_encoder(const ConfigReader& c, int vocabulary) {
  TransformerSpec s = encoder_of_masked_words();
  s.hidden = c.whole("hidden_size", 768);
  s.layers = c.whole("num_hidden_layers", 12, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", 12);
  s.kv_heads = s.heads;
  s.head_dim = share(c, "hidden_size", s.hidden, s.heads);
  s.inner = c.whole("intermediate_size", 3072);
  s.vocabulary = c.whole("vocab_size", vocabulary);
  s.position_rows = c.whole("max_position_embeddings", 512);
  s.token_types = c.whole("type_vocab_size", 2);
  s.activation = c.activation("hidden_act", "gelu");
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.dropout = c.drops("hidden_dropout_prob", 0.1);
  s.attention_dropout = c.drops("attention_probs_dropout_prob", 0.1);
  c.must_be("is_decoder", false, "a decoder of this architecture is not known");
  c.must_be("position_embedding_type", "absolute", "distances in place of positions are not known");
  return s;
}

}  // namespace

TransformerSpec bert(const ConfigReader& c) {
  TransformerSpec s = masked_encoder(c, 30522);
  s.title = "BERT";
  s.context = s.position_rows;
  return s;
}

// Positions start after the padding token's row.
TransformerSpec roberta(const ConfigReader& c) {
  TransformerSpec s = masked_encoder(c, 50265);
  s.title = "RoBERTa";
  s.context = s.position_rows - c.whole("pad_token_id", 1, 0, s.position_rows - 2) - 1;
  return s;
}

TransformerSpec xlm_roberta(const ConfigReader& c) {
  TransformerSpec s = roberta(c);
  s.title = "XLM-RoBERTa";
  return s;
}

// BERT with half of its layers and without token types.
TransformerSpec distilbert(const ConfigReader& c) {
  TransformerSpec s = encoder_of_masked_words();
  s.title = "DistilBERT";
  s.hidden = c.whole("dim", 768);
  s.layers = c.whole("n_layers", 6, 1, kMostLayers);
  s.heads = s.kv_heads = c.whole("n_heads", 12);
  s.head_dim = share(c, "dim", s.hidden, s.heads);
  s.inner = c.whole("hidden_dim", 3072);
  s.vocabulary = c.whole("vocab_size", 30522);
  s.position_rows = s.context = c.whole("max_position_embeddings", 512);
  s.activation = c.activation("activation", "gelu");
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.dropout = c.drops("dropout", 0.1);
  s.attention_dropout = c.drops("attention_dropout", 0.1);
  return s;
}

namespace {

// The class uses these sizes for absent keys.
struct T5Defaults {
  int layers, heads, inner, vocabulary;
  const char* network;
  bool tied;
};

TransformerSpec read_t5(const ConfigReader& c, const T5Defaults& d) {
  TransformerSpec s;
  s.hidden = c.whole("d_model", 512);
  s.layers = c.whole("num_layers", d.layers, 1, kMostLayers);
  s.decoder_layers = c.whole_or("num_decoder_layers", s.layers);
  s.heads = c.whole("num_heads", d.heads);
  s.kv_heads = s.heads;
  s.head_dim = c.whole("d_kv", 64);
  s.inner = c.whole("d_ff", d.inner);
  s.vocabulary = c.whole("vocab_size", d.vocabulary);
  s.context = c.whole_or("n_positions", 512);
  s.norm = LayerKind::rms_norm;
  s.positions = PositionKind::relative;
  s.distance_buckets = c.whole("relative_attention_num_buckets", 32);
  std::string network = c.text("feed_forward_proj", d.network);
  s.gated = network.rfind("gated-", 0) == 0;
  s.activation = c.activation_named("feed_forward_proj", s.gated ? network.substr(6) : network);
  s.tied_output = c.boolean("tie_word_embeddings", d.tied);
  s.dropout = s.attention_dropout = c.drops("dropout_rate", 0.1);
  return s;
}

}  // namespace

TransformerSpec t5(const ConfigReader& c) {
  TransformerSpec s = read_t5(c, {6, 8, 2048, 32128, "relu", true});
  s.title = "T5";
  return s;
}

TransformerSpec mt5(const ConfigReader& c) {
  TransformerSpec s = read_t5(c, {8, 6, 1024, 250112, "gated-gelu", false});
  s.title = "mT5";
  return s;
}

// Encoder and decoder each have positions after two rows of padding. One table of words serves both and the output.
TransformerSpec bart(const ConfigReader& c) {
  constexpr int kRowsBeforePositions = 2;
  TransformerSpec s;
  s.title = "BART";
  s.hidden = c.whole("d_model", 1024);
  s.layers = c.whole("encoder_layers", 12, 1, kMostLayers);
  s.decoder_layers = c.whole("decoder_layers", 12, 1, kMostLayers);
  s.heads = c.whole("encoder_attention_heads", 16);
  s.kv_heads = s.heads;
  s.head_dim = share(c, "d_model", s.hidden, s.heads);
  s.inner = c.whole("encoder_ffn_dim", 4096);
  c.must_be("decoder_ffn_dim", s.inner, "a decoder of another width than the encoder's is not known");
  c.must_be("decoder_attention_heads", s.heads, "a decoder with other heads than the encoder's is not known");
  c.must_be("scale_embedding", false, "scaled embeddings are not known");
  s.vocabulary = c.whole("vocab_size", 50265);
  s.context = c.whole("max_position_embeddings", 1024);
  s.position_rows = s.context + kRowsBeforePositions;
  s.positions = PositionKind::learned;
  s.activation = c.activation("activation_function", "gelu");
  s.norm_place = NormPlace::after;
  s.embedding_norm = true;
  s.final_norm = false;
  s.qkv_bias = s.attention_out_bias = s.inner_bias = true;
  s.tied_output = c.boolean("tie_word_embeddings", true);
  s.dropout = c.drops("dropout", 0.1);
  s.attention_dropout = c.drops("attention_dropout", 0);
  return s;
}

TransformerSpec vit(const ConfigReader& c) {
  TransformerSpec s;
  s.title = "ViT";
  s.hidden = c.whole("hidden_size", 768);
  s.layers = c.whole("num_hidden_layers", 12, 1, kMostLayers);
  s.heads = c.whole("num_attention_heads", 12);
  s.kv_heads = s.heads;
  s.head_dim = share(c, "hidden_size", s.hidden, s.heads);
  s.inner = c.whole("intermediate_size", 3072);
  s.patches.image = c.whole("image_size", 224);
  s.patches.patch = c.whole("patch_size", 16, 1, s.patches.image);
  s.patches.channels = c.whole("num_channels", 3, 1, 1000);
  if (s.patches.image % s.patches.patch != 0)
    c.fail("image_size", "no whole patches in it", "a multiple of patch_size");
  s.qkv_bias = c.boolean("qkv_bias", true);
  s.attention_out_bias = s.inner_bias = s.output_bias = true;
  s.activation = c.activation("hidden_act", "gelu");
  s.positions = PositionKind::learned;
  s.position_rows = s.usual_tokens();
  s.causal = false;
  s.objective = Objective::image_class;
  // Without class names, transformers creates two classes.
  s.vocabulary = c.has("id2label") ? static_cast<int>(c.at("id2label").members().size()) : c.whole("num_labels", 2);
  s.dropout = c.drops("hidden_dropout_prob", 0);
  s.attention_dropout = c.drops("attention_probs_dropout_prob", 0);
  return s;
}

}  // namespace lockstep::model::families
