#include "sim/launch/megatron_model.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/python_list.hpp"

namespace lockstep::sim::launch {
const std::vector<std::string>& megatron_model_flags() {
  static const std::vector<std::string> all{"swiglu",
                                            "squared_relu",
                                            "quick_geglu",
                                            "add_qkv_bias",
                                            "qk_layernorm",
                                            "untie_embeddings_and_output_weights",
                                            "moe_shared_expert_gate",
                                            "moe_router_enable_expert_bias"};
  return all;
}

namespace {

constexpr const char* kModel = "--model";

constexpr const char* kShapeNumbers[] = {"num_layers",          "hidden_size",
                                         "num_attention_heads", "ffn_hidden_size",
                                         "kv_channels",         "max_position_embeddings",
                                         "moe_ffn_hidden_size", "moe_shared_expert_intermediate_size",
                                         "no_rope_freq"};
constexpr const char* kLatentNumbers[] = {"q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim",
                                          "v_head_dim"};

// Keys of architectures that are not modelled.
constexpr struct {
  const char* key;
  const char* what;
} kRefused[] = {
    {"heterogeneous_layers_config_path", "layers of different shapes are not modelled"},
    {"heterogeneous_layers_config_encoded_json", "layers of different shapes are not modelled"},
    {"experimental_attention_variant", "attention variants are not modelled"},
    {"linear_attention_freq", "linear attention is not modelled"},
    {"enable_mhc_connections", "hyper-connections are not modelled"},
    {"moe_latent_size", "experts in a latent space are not modelled"},
    {"retro_add_retriever", "retrieval within the network is not modelled"},
    {"vision_pretraining", "vision models of Megatron-LM are not read"},
    {"language_model_type", "the part that sees images is not modelled"},
    {"img_h", "the part that sees images is not modelled"},
    {"vision_model_type", "the part that sees images is not modelled"},
    {"bert_binary_head", "only decoders are read"},
    {"add_pooler", "only decoders are read"},
    {"decoder_num_layers", "encoder-decoders of Megatron-LM are not read"},
};

// Not an error: the user may give another model by --model.
void require_modelled(LaunchSettings& s) {
  for (const auto& refused : kRefused) {
    if (!s.has(refused.key)) continue;
    const LaunchSetting* setting = s.take(refused.key, kModel);
    if (setting == nullptr || setting->value == Json(false) || plain_text(setting->value) == "false") continue;
    s.require_option(*setting, kModel, refused.what);
  }
  const LaunchSetting* const program = s.take("program");
  const std::string name = program == nullptr ? "" : plain_text(program->value);
  for (const char* other : {"bert", "t5", "retro", "ict", "vision", "vlm", "mimo"})
    if (name.find(other) != std::string::npos)
      s.require_option(*program, kModel, "only decoders are read from Megatron-LM's arguments");
}

void copy_pattern(LaunchSettings& s, const std::string& key, Json& config) {
  const auto text = s.text(key, kModel);
  if (!text) return;
  const LaunchSetting* setting = s.take(key, kModel);
  if (setting->value.is_array()) {
    config[key] = setting->value;
  } else if (text->find('[') == std::string::npos) {
    config[key] = *s.whole(key, kModel);
  } else {
    const auto list = python_list(*text);
    if (!list) fail_at(*setting, "is no pattern of layers", "give a number, or a list such as [0]*3+[1]*58");
    config[key] = *list;
  }
}

void copy_experts(LaunchSettings& s, Json& config) {
  const std::vector<std::string> list = s.words("num_experts", kModel);
  if (std::any_of(list.begin(), list.end(), [&](const std::string& one) { return one != list.front(); }))
    return s.require_option(s.at("num_experts"), kModel, "layers with different numbers of experts are not modelled");
  if (list.size() > 1) s.replace("num_experts", list.front());
  auto experts = s.whole("num_experts", kModel);
  if (!experts) experts = s.whole("num_moe_experts", kModel);
  if (!experts || *experts <= 1) return;
  config["num_experts"] = *experts;
  if (lower_case(s.text("mlp_type", kModel).value_or("")) == "residual")
    s.require_option(s.at("mlp_type"), kModel, "experts with a residual MLP are not modelled");
  auto active = s.whole("moe_router_topk", kModel);
  if (!active) active = s.whole("topk", kModel);  // Megatron-DeepSpeed's name
  const bool is_deepspeed = s.has("deepspeed") || s.has("deepspeed_config");
  config["moe_router_topk"] = active.value_or(is_deepspeed ? 1 : 2);
  copy_pattern(s, "moe_layer_freq", config);
  if (!is_deepspeed || config.contains("moe_layer_freq") || !config.contains("num_layers")) return;
  // Megatron-DeepSpeed: every second layer by default, the last one of each interval.
  const std::int64_t interval = std::max<std::int64_t>(1, s.whole("expert_interval", kModel).value_or(2));
  Json pattern = Json::array();
  for (std::int64_t layer = 1; layer <= config["num_layers"].get<std::int64_t>(); ++layer)
    pattern.push_back(layer % interval == 0 ? 1 : 0);
  config["moe_layer_freq"] = pattern;
}

// Reads a hybrid's layer pattern: one letter per layer, "|" between pipeline stages, "/" before multi-token prediction.
void copy_hybrid(LaunchSettings& s, Json& config) {
  const LaunchSetting* const is_hybrid = s.take("is_hybrid_model", kModel);
  auto pattern = s.text("hybrid_layer_pattern", kModel);
  if (!pattern) pattern = s.text("hybrid_override_pattern", kModel);
  if (!pattern) {
    if (is_hybrid != nullptr && s.is_on("is_hybrid_model", kModel))
      s.require_option(*is_hybrid, kModel, "layers by shares of attention are not read; give --hybrid-layer-pattern");
    return;
  }
  const std::string written = s.has("hybrid_layer_pattern") ? "hybrid_layer_pattern" : "hybrid_override_pattern";
  if (pattern->find('/') != std::string::npos)
    s.mark(written, Use::not_simulated, "multi-token prediction, behind \"/\", is left out, as of every model");
  std::string letters = pattern->substr(0, pattern->find('/'));
  letters.erase(std::remove(letters.begin(), letters.end(), '|'), letters.end());
  config["hybrid_layer_pattern"] = letters;
  if (!config.contains("num_layers")) config["num_layers"] = letters.size();
  for (const char* key : {"mamba_state_dim", "mamba_head_dim", "mamba_num_groups", "mamba_num_heads"})
    if (const auto value = s.whole(key, kModel)) config[key] = *value;
}

// Reads "(128, 0)": numbers of tokens before and after.
void copy_window(LaunchSettings& s, Json& config) {
  const auto text = s.text("window_size", kModel);
  if (!text) return;
  int window = 0;
  for (const char c : *text) {
    if (is_digit(c) && window < 100'000'000) window = 10 * window + (c - '0');
    if (c == ',') break;
  }
  if (window == 0) return;
  config["window_size"] = window + 1;
  copy_pattern(s, "window_attn_skip_freq", config);
}

void copy_positions(LaunchSettings& s, Json& config) {
  // Here "none" is a value of Megatron-LM's, not an absent one.
  const LaunchSetting* const given = s.take("position_embedding_type", kModel);
  const std::string written = given == nullptr ? "" : lower_case(plain_text(given->value));
  std::string kind =
      written == "none" ? written : lower_case(s.text("position_embedding_type", kModel).value_or("learned_absolute"));
  if (kind == "rotary") kind = "rope";
  if (kind == "learned") kind = "learned_absolute";
  if (kind == "alibi") {
    kind = "none";
    s.mark("position_embedding_type", Use::not_simulated, "ALiBi's bias on the attention's scores takes no time");
  }
  for (const char* key : {"use_rotary_position_embeddings", "use_llama2_rotary_position_embeddings"})
    if (s.is_on(key, kModel)) kind = "rope";
  if (s.is_on("use_alibi_position_embeddings", kModel) || s.is_on("no_position_embedding", kModel))
    if (kind != "rope") kind = "none";
  config["position_embedding_type"] = kind;
  if (const auto share = s.number("rotary_percent", kModel); share && *share < 1) config["rotary_percent"] = *share;
}

// The vocabulary of the catalogue's model whose tokenizer this is.
std::optional<int> vocabulary_of_tokenizer(LaunchSettings& s, const Catalogue& catalogue) {
  const std::string type = s.text("tokenizer_type").value_or("");
  const std::string name = s.text("tokenizer_model").value_or(s.text("tokenizer_name_or_path").value_or(""));
  if (type.compare(0, 16, "GPT2BPETokenizer") == 0) return 50257;
  if (const ModelEntry* entry = model_named(name, catalogue)) {
    const std::string fused = model::fused_attention_name(entry->id);
    const model::Graph& graph = model::zoo_graph(fused);
    if (graph.transformer) return graph.transformer->spec.vocabulary;
  }
  return std::nullopt;
}

void copy_vocabulary(LaunchSettings& s, const Catalogue& catalogue, Json& config) {
  const auto given = s.whole("vocab_size", kModel), padded = s.whole("padded_vocab_size", kModel);
  s.whole("make_vocab_size_divisible_by", kModel);  // padding is part of the software's model
  const std::optional<int> of_tokenizer = vocabulary_of_tokenizer(s, catalogue);
  if (padded || given)
    config["vocab_size"] = padded ? *padded : *given;
  else if (of_tokenizer)
    config["vocab_size"] = *of_tokenizer;
}

void copy_heads(LaunchSettings& s, MegatronKeys kind, Json& config) {
  const auto groups = s.whole("num_query_groups", kModel);
  const bool counts = s.is_on("group_query_attention", kModel) || kind == MegatronKeys::configuration;
  if (groups && counts)
    config["num_query_groups"] = *groups;
  else if (const auto heads = s.whole("num_key_value_heads", kModel))  // Megatron-DeepSpeed's name
    config["num_query_groups"] = *heads;
  else if (lower_case(s.text("attention_head_type", kModel).value_or("")) == "multiquery")
    config["num_query_groups"] = 1;
}

Json config_of(LaunchSettings& s, const Catalogue& catalogue, MegatronKeys kind) {
  Json config{{"model_type", "megatron"}};
  for (const char* key : kShapeNumbers)
    if (const auto value = s.whole(key, kModel)) config[key] = *value;
  copy_heads(s, kind, config);
  for (const std::string& key : megatron_model_flags()) config[key] = s.is_on(key, kModel);
  if (s.is_on("gated_linear_unit", kModel)) config["swiglu"] = true;
  if (const auto shared = s.boolean("share_embeddings_and_output_weights", kModel))
    config["untie_embeddings_and_output_weights"] = !*shared;
  const std::string norm = s.text("normalization", kModel).value_or("LayerNorm");
  config["normalization"] = lower_case(norm) == "rmsnorm"     ? "RMSNorm"
                            : lower_case(norm) == "layernorm" ? "LayerNorm"
                                                              : norm;
  config["add_bias_linear"] =
      !s.is_on("disable_bias_linear", kModel) && s.boolean("add_bias_linear", kModel).value_or(true);
  for (const char* key : {"hidden_dropout", "attention_dropout"}) config[key] = s.number(key, kModel).value_or(0.1);
  if (s.is_on("multi_latent_attention", kModel)) {
    config["multi_latent_attention"] = true;
    for (const char* key : kLatentNumbers)
      if (const auto value = s.whole(key, kModel)) config[key] = *value;
  }
  copy_experts(s, config);
  copy_hybrid(s, config);
  copy_window(s, config);
  copy_positions(s, config);
  copy_vocabulary(s, catalogue, config);
  return config;
}

// Removes values that are false, the default of most keys.
void drop_defaults(Json& config) {
  std::vector<std::string> defaults;
  for (const auto& [key, value] : config.items())
    if (value == Json(false) && key != "swiglu" && key != "add_bias_linear" &&
        key != "untie_embeddings_and_output_weights")
      defaults.push_back(key);
  for (const std::string& key : defaults) config.erase(key);
}

}  // namespace

void read_megatron_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue, MegatronKeys kind) {
  if (s.is_on("perform_rl_step"))
    fail_at(s.at("perform_rl_step"), "reinforcement learning cannot be predicted", "leave it out");
  for (const char* key : {"grpo_iterations", "grpo_group_size", "grpo_prompts_per_step"})
    if (s.has(key)) fail_at(s.at(key), "reinforcement learning cannot be predicted", "leave it out");
  require_modelled(s);
  Json config = config_of(s, catalogue, kind);
  drop_defaults(config);
  if (const auto depths = s.whole("mtp_num_layers", kModel); depths && *depths > 0)
    s.mark("mtp_num_layers", Use::not_simulated, "multi-token prediction is left out, as of every model");
  const bool is_shape =
      config.contains("num_layers") && config.contains("hidden_size") && config.contains("num_attention_heads");
  if (!is_shape || f.has(kModel)) return;
  const LaunchSetting* setting = s.take("num_layers");
  for (const char* key : {"hybrid_layer_pattern", "hybrid_override_pattern"})
    if (setting == nullptr) setting = s.take(key);
  try {
    const ModelOption option = model_of_config(config, f.sequence, catalogue, "its shape");
    f.give(kModel, option.text, setting->place, "the model's numbers");
    if (!option.note.empty()) f.notes.push_back(option.note);
  } catch (const InputError& error) {
    s.require_option(*setting, kModel, error.what());
  }
}

}  // namespace lockstep::sim::launch
