// "megatron": a decoder described by Megatron-Core's TransformerConfig or Megatron-LM's arguments for the network's
// size, with their defaults. Underscores replace the hyphens of the arguments.
#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/transformer/families.hpp"

namespace lockstep::model::families {
namespace {

// 4 hidden; if gated, two thirds of that, rounded down to a multiple of 64 (megatron/training/arguments.py,
// validate_args()).
int usual_inner(int hidden, bool gated) {
  return gated ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
}

void read_activation(const ConfigReader& c, TransformerSpec& s) {
  const bool is_swiglu = c.boolean("swiglu", false), is_geglu = c.has("quick_geglu") && c.boolean("quick_geglu", false);
  s.gated = is_swiglu || is_geglu;
  const bool is_relu = c.has("squared_relu") && c.boolean("squared_relu", false);
  s.activation = is_swiglu ? LayerKind::silu : is_relu ? LayerKind::relu : LayerKind::gelu;
}

void read_positions(const ConfigReader& c, TransformerSpec& s) {
  const std::string kind = c.text("position_embedding_type", "learned_absolute");
  if (kind == "rope" || kind == "yarn" || kind == "mrope") {
    s.positions = PositionKind::rotary;
    s.rotary_features =
        s.latent.kv_rank > 0
            ? s.latent.rope_dim
            : static_cast<int>(s.head_dim * (c.has("rotary_percent") ? c.fraction("rotary_percent", 1) : 1.0));
  } else if (kind == "learned_absolute") {
    s.positions = PositionKind::learned;
    s.position_rows = s.context;
  } else if (kind != "none") {
    c.fail("position_embedding_type", in_quotes(kind) + " is not modelled",
           "learned_absolute, rope, yarn, mrope, none");
  }
}

void read_latent_attention(const ConfigReader& c, TransformerSpec& s) {
  if (!c.has("multi_latent_attention") || !c.boolean("multi_latent_attention", false)) return;
  s.latent.q_rank = c.has("q_lora_rank") ? c.whole("q_lora_rank", 0) : 0;
  s.latent.kv_rank = c.whole("kv_lora_rank", 512);
  s.latent.nope_dim = c.whole("qk_head_dim", 128);
  s.latent.rope_dim = c.whole("qk_pos_emb_head_dim", 64);
  s.latent.value_dim = c.whole("v_head_dim", 128);
}

// Number n: every n-th layer has experts, starting with the first. List: 1 if the layer has experts.
void read_layers_with_experts(const ConfigReader& c, TransformerSpec& s) {
  if (!c.has("moe_layer_freq")) return;
  if (!c.at("moe_layer_freq").is_array()) {
    s.mixture.every = c.whole("moe_layer_freq", 1);
    return;
  }
  const std::vector<int> pattern = c.wholes("moe_layer_freq");
  if (static_cast<int>(pattern.size()) != s.layers)
    c.fail("moe_layer_freq", "array of " + std::to_string(pattern.size()), "as many as num_layers");
  for (int layer = 0; layer < s.layers; ++layer)
    if (pattern[static_cast<std::size_t>(layer)] == 0) s.mixture.dense_layers.push_back(layer);
}

void read_experts(const ConfigReader& c, TransformerSpec& s) {
  MixtureSpec& m = s.mixture;
  m.count = c.nullable("num_experts", 0);
  if (m.count == 0) return;
  m.active = c.whole("moe_router_topk", 2, 1, m.count);
  m.inner = c.whole_or("moe_ffn_hidden_size", s.inner);
  m.shared_inner = c.nullable("moe_shared_expert_intermediate_size", 0);
  m.shared_gate = c.has("moe_shared_expert_gate") && c.boolean("moe_shared_expert_gate", false);
  m.balancing_bias = c.has("moe_router_enable_expert_bias") && c.boolean("moe_router_enable_expert_bias", false);
  m.bias = s.inner_bias;
  read_layers_with_experts(c, s);
}

// Number n: every n-th layer sees all tokens. List: 1 if the layer has the window.
void read_windows(const ConfigReader& c, TransformerSpec& s) {
  const int window = c.nullable("window_size", 0);
  if (window == 0) return;
  if (!c.has("window_attn_skip_freq")) return set_all_windows(window, s);
  if (c.at("window_attn_skip_freq").is_array()) {
    const std::vector<int> pattern = c.wholes("window_attn_skip_freq");
    if (static_cast<int>(pattern.size()) != s.layers)
      c.fail("window_attn_skip_freq", "array of " + std::to_string(pattern.size()), "as many as num_layers");
    for (const int has_window : pattern) s.windows.push_back(has_window != 0 ? window : 0);
    return;
  }
  const int every = c.whole("window_attn_skip_freq", 1);
  for (int layer = 1; layer <= s.layers; ++layer) s.windows.push_back(layer % every == 0 ? 0 : window);
}

// Reads Mamba-2 layers of MambaMixer: a convolution of four tokens with bias, chunks of 128 tokens
// (megatron/core/ssm/mamba_mixer.py).
void read_hybrid(const ConfigReader& c, TransformerSpec& s) {
  if (!c.has("hybrid_layer_pattern")) return;
  const int layers = s.layers;
  read_layer_pattern(c, "hybrid_layer_pattern", c.at("hybrid_layer_pattern").text(), s);
  if (s.layers != layers)
    c.fail("num_layers", "the pattern has " + std::to_string(s.layers) + " layers", std::to_string(s.layers));
  RecurrenceShape& r = s.recurrence;
  r.state = c.whole("mamba_state_dim", 128);
  r.head_dim = c.whole("mamba_head_dim", 64);
  r.groups = c.whole("mamba_num_groups", 8);
  r.heads = c.whole_or("mamba_num_heads", 2 * s.hidden / r.head_dim);
  r.taps = 4;
  r.taps_bias = true;
  r.chunk = 128;
}

}  // namespace

TransformerSpec megatron(const ConfigReader& c) {
  TransformerSpec s;
  s.title = "Transformer";
  s.layers = c.whole("num_layers", 0, 1, kMostLayers);
  s.hidden = c.whole("hidden_size", 0);
  s.heads = c.whole("num_attention_heads", 0);
  for (const char* key : {"num_layers", "hidden_size", "num_attention_heads"}) c.at(key);  // required
  s.kv_heads = c.whole_or("num_query_groups", s.heads);
  s.head_dim = c.has("kv_channels") ? c.whole("kv_channels", 0) : share(c, "hidden_size", s.hidden, s.heads);
  read_activation(c, s);
  s.inner = c.whole_or("ffn_hidden_size", usual_inner(s.hidden, s.gated));
  const std::string norm = c.text("normalization", "LayerNorm");
  if (norm != "LayerNorm" && norm != "RMSNorm")
    c.fail("normalization", in_quotes(norm) + " is not modelled", "LayerNorm, RMSNorm");
  s.norm = norm == "RMSNorm" ? LayerKind::rms_norm : LayerKind::layer_norm;
  s.context = c.whole("max_position_embeddings", 4096);
  s.vocabulary = c.whole("vocab_size", 51200);
  s.tied_output = !c.boolean("untie_embeddings_and_output_weights", false);
  const bool has_bias = c.boolean("add_bias_linear", true);
  s.qkv_bias = has_bias || (c.has("add_qkv_bias") && c.boolean("add_qkv_bias", false));
  s.attention_out_bias = s.inner_bias = has_bias;
  s.qk_norm = c.has("qk_layernorm") && c.boolean("qk_layernorm", false);
  s.dropout = c.has("hidden_dropout") && c.drops("hidden_dropout", 0);
  s.attention_dropout = c.has("attention_dropout") && c.drops("attention_dropout", 0);
  read_latent_attention(c, s);
  read_positions(c, s);
  if (c.has("no_rope_freq")) s.unturned_every = c.whole("no_rope_freq", 1);
  read_windows(c, s);
  read_experts(c, s);
  read_hybrid(c, s);
  return s;
}

}  // namespace lockstep::model::families
