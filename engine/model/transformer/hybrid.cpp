// Decoders with recurrent layers, with or without attention layers (recurrence.hpp). Absent sizes are the defaults of
// the class in transformers 4.
#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

constexpr int kTokensOfMamba = 2048;  // tokens per sample in both papers; the configurations have no length
constexpr int kDeltaChunk = 64;       // flash-linear-attention, chunk_gated_delta_rule

int whole_or_auto(const ConfigReader& c, const std::string& key, int otherwise) {
  const bool is_auto = c.has(key) && c.at(key).is_string() && c.at(key).text() == "auto";
  return is_auto ? otherwise : c.whole_or(key, otherwise);
}

int steps_rank(const ConfigReader& c, const std::string& key, int hidden) {
  return whole_or_auto(c, key, (hidden + 15) / 16);
}

void recurrent_everywhere(TransformerSpec& s) {
  s.layer_parts.assign(static_cast<std::size_t>(s.layers), {TokenMixing::recurrence, FeedForward::none});
  s.norm = LayerKind::rms_norm;
  s.heads = s.kv_heads = s.recurrence.heads;
  s.head_dim = s.recurrence.head_dim;
  s.inner = s.heads * s.head_dim;
  s.context = kTokensOfMamba;
}

TransformerSpec first_mamba(const ConfigReader& c, int layers) {
  TransformerSpec s;
  s.hidden = c.whole("hidden_size", 768);
  s.layers = c.whole(c.given_of({"num_hidden_layers", "n_layer"}), layers, 1, kMostLayers);
  RecurrenceShape& r = s.recurrence;
  r.rule = RecurrenceRule::per_channel;
  r.state = c.whole("state_size", 16);
  r.heads = c.whole_or("intermediate_size", c.whole("expand", 2) * s.hidden);
  r.taps = c.whole("conv_kernel", 4);
  r.taps_bias = c.boolean("use_conv_bias", true);
  r.step_rank = steps_rank(c, "time_step_rank", s.hidden);
  s.recurrence_bias = c.boolean("use_bias", false);
  s.vocabulary = c.whole("vocab_size", 50280);
  s.tied_output = c.boolean("tie_word_embeddings", true);
  recurrent_everywhere(s);
  return s;
}

// Reads the Mamba-2 sizes of IBM's hybrids, whose keys begin with "mamba_".
RecurrenceShape second_mamba(const ConfigReader& c, int hidden) {
  RecurrenceShape r;
  r.rule = RecurrenceRule::per_head;
  r.heads = c.whole("mamba_n_heads", 128);
  r.head_dim = whole_or_auto(c, "mamba_d_head", c.whole("mamba_expand", 2) * hidden / r.heads);
  r.state = c.whole("mamba_d_state", 256);
  r.groups = c.whole("mamba_n_groups", 1);
  r.taps = c.whole("mamba_d_conv", 4);
  r.taps_bias = c.boolean("mamba_conv_bias", true);
  r.chunk = c.whole("mamba_chunk_size", 256);
  return r;
}

// Sets each layer's mixing from "layer_types". Without that key, layers for which `otherwise` is true have attention.
template <typename IsAttention>
void set_mixing_by_type(const ConfigReader& c, const std::string& recurrence, const std::string& attention,
                        const IsAttention& otherwise, TransformerSpec& s) {
  std::vector<JsonNode> types;
  if (c.has("layer_types")) {
    types = c.at("layer_types").items();
    if (static_cast<int>(types.size()) != s.layers)
      c.fail("layer_types", "array of " + std::to_string(types.size()), "as many as num_hidden_layers");
  }
  std::vector<LayerParts> parts;
  for (int layer = 0; layer < s.layers; ++layer) {
    const bool is_attention = types.empty()
                                  ? otherwise(layer)
                                  : types[static_cast<std::size_t>(layer)].choice({recurrence, attention}) == attention;
    parts.push_back({is_attention ? TokenMixing::attention : TokenMixing::recurrence, s.parts_of(layer).feed_forward});
  }
  s.layer_parts = std::move(parts);
}

}  // namespace

TransformerSpec mamba(const ConfigReader& c) {
  TransformerSpec s = first_mamba(c, 32);
  s.title = "Mamba";
  return s;
}

// Its norms of steps, keys and queries have no parameters.
TransformerSpec falcon_mamba(const ConfigReader& c) {
  TransformerSpec s = first_mamba(c, 32);
  s.context = 8192;  // tokens per sample in its pre-training
  s.title = "Falcon Mamba";
  return s;
}

TransformerSpec mamba2(const ConfigReader& c) {
  TransformerSpec s;
  s.hidden = c.whole("hidden_size", 4096);
  s.layers = c.whole("num_hidden_layers", 64, 1, kMostLayers);
  RecurrenceShape& r = s.recurrence;
  r.heads = c.whole("num_heads", 128);
  r.head_dim = c.whole("head_dim", 64);
  r.state = c.whole("state_size", 128);
  r.groups = c.whole("n_groups", 8);
  r.taps = c.whole("conv_kernel", 4);
  r.taps_bias = c.boolean("use_conv_bias", true);
  r.chunk = c.whole("chunk_size", 256);
  s.recurrence_bias = c.boolean("use_bias", false);
  s.vocabulary = c.whole("vocab_size", 32768);
  s.tied_output = c.boolean("tie_word_embeddings", false);
  recurrent_everywhere(s);
  s.title = "Mamba-2";
  return s;
}

TransformerSpec jamba(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {65536, 4096, 14336, 32, 32, 8, 0, 262144, false}, "silu");
  s.positions = PositionKind::none;
  MixtureSpec& m = s.mixture;
  m.count = c.whole("num_experts", 16);
  m.active = c.whole("num_experts_per_tok", 2, 1, m.count);
  m.inner = s.inner;
  m.every = c.whole("expert_layer_period", 2);
  m.phase = c.whole("expert_layer_offset", 1, 0, m.every - 1);
  if (m.count == 1) m.count = 0;
  RecurrenceShape& r = s.recurrence;
  r.rule = RecurrenceRule::per_channel;
  r.state = c.whole("mamba_d_state", 16);
  r.heads = c.whole("mamba_expand", 2) * s.hidden;
  r.taps = c.whole("mamba_d_conv", 4);
  r.taps_bias = c.boolean("mamba_conv_bias", true);
  r.step_rank = steps_rank(c, "mamba_dt_rank", s.hidden);
  r.inner_norms = true;
  s.recurrence_bias = c.boolean("mamba_proj_bias", false);
  const int period = c.whole("attn_layer_period", 8), offset = c.whole("attn_layer_offset", 4, 0);
  set_mixing_by_type(
      c, "mamba", "attention", [&](int layer) { return layer % period == offset; }, s);
  s.title = "Jamba";
  return s;
}

TransformerSpec bamba(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {128000, 4096, 14336, 32, 32, 8, 0, 262144, false}, "silu");
  s.rotary_features = s.head_dim / 2;
  s.recurrence = second_mamba(c, s.hidden);
  s.recurrence_bias = c.boolean("mamba_proj_bias", false);
  const std::vector<int> attending = c.wholes("attn_layer_indices");
  const auto attends = [&](int layer) { return std::count(attending.begin(), attending.end(), layer) > 0; };
  set_mixing_by_type(c, "mamba", "attention", attends, s);
  s.title = "Bamba";
  return s;
}

// Every layer has a shared feed-forward network, in parallel with the experts if there are any.
TransformerSpec granite_hybrid(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32000, 4096, 11008, 32, 32, 0, 0, 2048, true}, "silu");
  const std::string positions = c.text("position_embedding_type", "nope");
  if (positions != "rope") s.positions = PositionKind::none;
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  const int shared = c.whole("shared_intermediate_size", 1024);
  MixtureSpec& m = s.mixture;
  m.count = c.whole("num_local_experts", 8, 0);
  if (m.count > 0) {
    m.active = c.whole("num_experts_per_tok", 2, 1, m.count);
    m.inner = s.inner;
    m.shared_inner = shared;
  }
  s.inner = shared;
  s.recurrence = second_mamba(c, s.hidden);
  s.recurrence_bias = c.boolean("mamba_proj_bias", false);
  set_mixing_by_type(
      c, "mamba", "attention", [](int) { return false; }, s);
  s.title = "Granite hybrid";
  return s;
}

void read_layer_pattern(const ConfigReader& c, const std::string& key, const std::string& pattern, TransformerSpec& s) {
  for (const char letter : pattern) {
    if (letter == 'M') s.layer_parts.push_back({TokenMixing::recurrence, FeedForward::none});
    if (letter == '*') s.layer_parts.push_back({TokenMixing::attention, FeedForward::none});
    if (letter == '-') s.layer_parts.push_back({TokenMixing::none, FeedForward::network});
    if (letter == 'E') s.layer_parts.push_back({TokenMixing::none, FeedForward::experts});
  }
  s.layers = static_cast<int>(s.layer_parts.size());
  if (s.layer_parts.empty() || s.layer_parts.size() != pattern.size())
    c.fail(key, "a layer of a kind that is not known", "M, *, - and E, one for each layer");
}

// The letters of the pattern choose each layer: Mamba-2, attention, a feed-forward network or experts.
TransformerSpec nemotron_h(const ConfigReader& c) {
  TransformerSpec s;
  s.hidden = c.whole("hidden_size", 4096);
  s.heads = c.whole("num_attention_heads", 32);
  s.kv_heads = c.whole("num_key_value_heads", 8);
  s.head_dim = c.whole(c.given_of({"head_dim", "attention_head_dim"}), 128);
  s.inner = c.whole("intermediate_size", 21504);
  s.vocabulary = c.whole("vocab_size", 131072);
  s.context = c.whole("max_position_embeddings", 4096);
  s.tied_output = c.boolean("tie_word_embeddings", false);
  s.activation = c.activation("mlp_hidden_act", "relu2");
  s.norm = LayerKind::rms_norm;
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.inner_bias = c.boolean("mlp_bias", false);
  RecurrenceShape& r = s.recurrence;
  r.heads = c.whole("mamba_num_heads", 128);
  r.head_dim = c.whole("mamba_head_dim", 64);
  r.state = c.whole("ssm_state_size", 128);
  r.groups = c.whole("n_groups", 8);
  r.taps = c.whole("conv_kernel", 4);
  r.taps_bias = c.boolean("use_conv_bias", true);
  r.chunk = c.whole("chunk_size", 128);
  s.recurrence_bias = c.boolean("use_bias", false);
  const std::string pattern = c.text("hybrid_override_pattern", "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-");
  read_layer_pattern(c, "hybrid_override_pattern", pattern, s);
  if (c.whole_or("num_hidden_layers", s.layers) != s.layers)
    c.fail("num_hidden_layers", "the pattern has " + std::to_string(s.layers) + " layers", std::to_string(s.layers));
  if (pattern.find('E') != std::string::npos) {
    if (c.has("moe_latent_size"))
      c.fail("moe_latent_size", "experts of a compressed vector are not modelled", "a configuration without it");
    MixtureSpec& m = s.mixture;
    m.count = c.whole("n_routed_experts", 128);
    m.active = c.whole("num_experts_per_tok", 6, 1, m.count);
    m.inner = c.whole("moe_intermediate_size", 1856);
    m.shared_inner = c.nullable("n_shared_experts", 1) * c.whole("moe_shared_expert_intermediate_size", 3712);
  }
  s.title = "Nemotron-H";
  return s;
}

namespace {

// Its layers use the gated delta rule or gated attention.
TransformerSpec delta_decoder(const ConfigReader& c, const DecoderDefaults& defaults) {
  TransformerSpec s = gated_decoder(c, defaults, "silu");
  s.rotary_features = static_cast<int>(s.head_dim * c.fraction("partial_rotary_factor", 0.25));
  s.qkv_bias = s.attention_out_bias = c.boolean("attention_bias", false);
  s.qk_norm = true;
  s.attention_gate = true;
  RecurrenceShape& r = s.recurrence;
  r.rule = RecurrenceRule::delta;
  r.heads = c.whole("linear_num_value_heads", 32);
  r.groups = c.whole("linear_num_key_heads", 16);
  r.head_dim = c.whole("linear_value_head_dim", 128);
  r.state = c.whole("linear_key_head_dim", 128);
  r.taps = c.whole("linear_conv_kernel_dim", 4);
  r.chunk = kDeltaChunk;
  return s;
}

// By default every fourth layer has attention. Requires that `s` has its experts.
void set_delta_mixing(const ConfigReader& c, TransformerSpec& s) {
  const int every = c.whole("full_attention_interval", 4);
  set_mixing_by_type(
      c, "linear_attention", "full_attention", [&](int layer) { return (layer + 1) % every == 0; }, s);
}

void read_delta_experts(const ConfigReader& c, int count, int active, TransformerSpec& s) {
  MixtureSpec& m = s.mixture;
  m.count = c.whole("num_experts", count, 0);
  if (m.count == 0) return;
  m.active = c.whole("num_experts_per_tok", active, 1, m.count);
  m.inner = c.whole("moe_intermediate_size", 512);
  m.shared_inner = c.whole("shared_expert_intermediate_size", 512);
  m.shared_gate = true;
}

}  // namespace

TransformerSpec qwen3_next(const ConfigReader& c) {
  TransformerSpec s = delta_decoder(c, {151936, 2048, 5632, 48, 16, 2, 256, 32768, false});
  read_delta_experts(c, 512, 10, s);
  if (s.mixture.count > 0) {
    s.mixture.every = c.whole("decoder_sparse_step", 1);
    s.mixture.phase = s.mixture.every - 1;
    s.mixture.dense_layers = c.wholes("mlp_only_layers");
  }
  set_delta_mixing(c, s);
  s.title = "Qwen3-Next";
  return s;
}

TransformerSpec qwen3_5(const ConfigReader& c) {
  TransformerSpec s = delta_decoder(c, {248320, 4096, 12288, 32, 16, 4, 256, 32768, false});
  set_delta_mixing(c, s);
  s.title = "Qwen3.5";
  return s;
}

// Every layer has experts, so that no layer has a network of `intermediate_size`.
TransformerSpec qwen3_5_moe(const ConfigReader& c) {
  TransformerSpec s = delta_decoder(c, {248320, 2048, 512, 40, 16, 2, 256, 32768, false});
  read_delta_experts(c, 256, 8, s);
  set_delta_mixing(c, s);
  s.title = "Qwen3.5 MoE";
  return s;
}

// In MiniMax-Text-01 and M1, seven of eight layers use lightning attention ("attn_type_list").
TransformerSpec minimax(const ConfigReader& c) {
  TransformerSpec s = gated_decoder(c, {32000, 4096, 14336, 32, 32, 8, 0, 4096 * 32, false}, "silu");
  s.rotary_features = std::min(s.head_dim, c.whole_or("rotary_dim", s.head_dim));
  MixtureSpec& m = s.mixture;
  m.count = c.whole("num_local_experts", 8);
  m.active = c.whole("num_experts_per_tok", 2, 1, m.count);
  m.inner = s.inner;
  m.shared_inner = c.nullable("shared_intermediate_size", 0);
  RecurrenceShape& r = s.recurrence;
  r.rule = RecurrenceRule::fixed;
  r.heads = s.heads;
  r.head_dim = r.state = s.head_dim;
  r.chunk = c.whole("block_size", 256);
  const std::vector<int> attending = c.wholes("attn_type_list");
  if (!attending.empty() && static_cast<int>(attending.size()) != s.layers)
    c.fail("attn_type_list", "array of " + std::to_string(attending.size()), "as many as num_hidden_layers");
  const auto attends = [&](int layer) {
    return attending.empty() ? layer % 2 == 1 : attending[static_cast<std::size_t>(layer)] == 1;
  };
  set_mixing_by_type(c, "linear_attention", "full_attention", attends, s);
  s.title = "MiniMax";
  return s;
}

}  // namespace lockstep::model::families
