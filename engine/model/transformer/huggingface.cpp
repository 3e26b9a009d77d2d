#include "engine/model/transformer/huggingface.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "engine/model/transformer/families.hpp"

namespace lockstep::model {
namespace {

struct Family {
  const char* type;
  const char* class_name;
  TransformerSpec (*read)(const ConfigReader&);  ///< null: by the model_type of the language model
  const char* text_in = nullptr;                 ///< key of the language model inside a multimodal model
  bool needs_sizes = false;                      ///< its class has other defaults than `read`
};

const std::vector<Family>& all_families() {
  using namespace families;
  static const std::vector<Family> all{
      {"llama", "LlamaConfig", llama},
      {"mistral", "MistralConfig", mistral},
      {"ministral3", "Ministral3Config", ministral3},
      {"mistral3", "Mistral3Config", nullptr, "text_config"},
      {"llava", "LlavaConfig", nullptr, "text_config"},
      {"internvl", "InternVLConfig", nullptr, "text_config"},
      {"qwen2_vl", "Qwen2VLTextConfig", qwen2, "text_config", true},
      {"qwen2_5_vl", "Qwen2_5_VLTextConfig", qwen2, "text_config", true},
      {"qwen3_vl", "Qwen3VLTextConfig", qwen3, "text_config", true},
      {"qwen3_vl_moe", "Qwen3VLMoeTextConfig", qwen3_moe, "text_config", true},
      {"kimi_k25", "DeepseekV3Config", deepseek_v3, "text_config"},
      {"qwen3_5_text", "Qwen3_5TextConfig", qwen3_5},
      {"qwen3_5", "Qwen3_5TextConfig", qwen3_5, "text_config"},
      {"qwen3_5_moe_text", "Qwen3_5MoeTextConfig", qwen3_5_moe},
      {"qwen3_5_moe", "Qwen3_5MoeTextConfig", qwen3_5_moe, "text_config"},
      {"glm4_moe_lite", "Glm4MoeLiteConfig", glm4_moe_lite},
      {"mixtral", "MixtralConfig", mixtral},
      {"qwen2", "Qwen2Config", qwen2},
      {"qwen3", "Qwen3Config", qwen3},
      {"qwen2_moe", "Qwen2MoeConfig", qwen2_moe},
      {"qwen3_moe", "Qwen3MoeConfig", qwen3_moe},
      {"gemma", "GemmaConfig", gemma},
      {"gemma2", "Gemma2Config", gemma2},
      {"deepseek_v2", "DeepseekV2Config", deepseek_v2},
      {"deepseek_v3", "DeepseekV3Config", deepseek_v3},
      {"kimi_k2", "DeepseekV3Config", deepseek_v3},
      {"phi3", "Phi3Config", phi3},
      {"gemma3_text", "Gemma3TextConfig", gemma3},
      {"gemma3", "Gemma3TextConfig", gemma3, "text_config"},
      {"olmo2", "Olmo2Config", olmo2},
      {"olmo3", "Olmo3Config", olmo3},
      {"olmoe", "OlmoeConfig", olmoe},
      {"glm", "GlmConfig", glm},
      {"glm4", "Glm4Config", glm4},
      {"glm4_moe", "Glm4MoeConfig", glm4_moe},
      {"llama4_text", "Llama4TextConfig", llama4},
      {"llama4", "Llama4TextConfig", llama4, "text_config"},
      {"gpt_oss", "GptOssConfig", gpt_oss},
      {"minimax_m2", "MiniMaxM2Config", minimax_m2},
      {"mamba", "MambaConfig", mamba},
      {"falcon_mamba", "FalconMambaConfig", falcon_mamba},
      {"mamba2", "Mamba2Config", mamba2},
      {"jamba", "JambaConfig", jamba},
      {"bamba", "BambaConfig", bamba},
      {"granitemoehybrid", "GraniteMoeHybridConfig", granite_hybrid},
      {"nemotron_h", "NemotronHConfig", nemotron_h},
      {"qwen3_next", "Qwen3NextConfig", qwen3_next},
      {"minimax", "MiniMaxConfig", minimax},
      {"minimax_text_01", "MiniMaxConfig", minimax},
      {"minimax_m1", "MiniMaxConfig", minimax},
      {"smollm3", "SmolLM3Config", smollm3},
      {"granite", "GraniteConfig", granite},
      {"internlm2", "InternLM2Config", internlm2},
      {"baichuan", "BaichuanConfig", baichuan},
      {"seed_oss", "SeedOssConfig", seed_oss},
      {"stablelm", "StableLmConfig", stablelm},
      {"cohere", "CohereConfig", cohere},
      {"nemotron", "NemotronConfig", nemotron},
      {"mpt", "MptConfig", mpt},
      {"phimoe", "PhimoeConfig", phimoe},
      {"dbrx", "DbrxConfig", dbrx},
      {"olmo", "OlmoConfig", olmo},
      {"exaone", "ExaoneConfig", exaone},
      {"exaone4", "Exaone4Config", exaone4},
      {"cohere2", "Cohere2Config", cohere2},
      {"ernie4_5", "Ernie4_5Config", ernie4_5},
      {"ernie4_5_moe", "Ernie4_5_MoeConfig", ernie4_5_moe},
      {"apertus", "ApertusConfig", apertus},
      {"arcee", "ArceeConfig", arcee},
      {"hunyuan_v1_dense", "HunYuanDenseV1Config", hunyuan_dense},
      {"dots1", "Dots1Config", dots1},
      {"deepseek", "DeepseekConfig", deepseek_v1},
      {"chatglm", "ChatGLMConfig", chatglm},
      {"xglm", "XGLMConfig", xglm},
      {"falcon", "FalconConfig", falcon},
      {"bloom", "BloomConfig", bloom},
      {"gptj", "GPTJConfig", gptj},
      {"phi", "PhiConfig", phi},
      {"gpt_bigcode", "GPTBigCodeConfig", gpt_bigcode},
      {"starcoder2", "Starcoder2Config", starcoder2},
      {"gpt2", "GPT2Config", gpt2},
      {"gpt_neo", "GPTNeoConfig", gpt_neo},
      {"gpt_neox", "GPTNeoXConfig", gpt_neox},
      {"opt", "OPTConfig", opt},
      {"bert", "BertConfig", bert},
      {"roberta", "RobertaConfig", roberta},
      {"xlm-roberta", "XLMRobertaConfig", xlm_roberta},
      {"distilbert", "DistilBertConfig", distilbert},
      {"t5", "T5Config", t5},
      {"mt5", "MT5Config", mt5},
      {"bart", "BartConfig", bart},
      {"vit", "ViTConfig", vit},
      {"megatron", "TransformerConfig (Megatron-LM)", megatron},
  };
  return all;
}

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

// Refuses a head other than pre-training's, such as classification: its parameters and loss differ.
void check_architecture(const ConfigReader& config, TransformerSpec& spec) {
  if (!config.has("architectures")) return;
  const std::vector<JsonNode> names = config.at("architectures").items();
  if (names.empty()) return;
  const std::string name = names.front().text();
  std::vector<std::string> known{"Model", "ForCausalLM", "LMHeadModel"};
  if (spec.objective == Objective::masked_token) known = {"Model", "ForMaskedLM", "ForPreTraining"};
  if (spec.objective == Objective::image_class) known = {"Model", "ForImageClassification"};
  if (spec.decoder_layers > 0) known = {"Model", "ForConditionalGeneration", "WithLMHeadModel"};
  if (std::none_of(known.begin(), known.end(), [&](const std::string& k) { return ends_with(name, k); }))
    names.front().fail("no model of the loss of " + in_quotes(name), "allowed: names that end in " + joined(known));
  if (ends_with(name, "ForPreTraining")) spec.objective = Objective::masked_and_next_sentence;
}

const Family& family_of(const JsonNode& node, const std::string& type) {
  if (const std::string why = why_not_modelled(type); !why.empty())
    node.at("model_type")
        .fail("architecture " + in_quotes(type) + ": " + why, "allowed: " + joined(huggingface_types()));
  const auto found = std::find_if(all_families().begin(), all_families().end(),
                                  [&](const Family& family) { return family.type == type; });
  if (found == all_families().end())
    node.at("model_type")
        .fail("architecture " + in_quotes(type) + " is unknown",
              "allowed: " + joined(huggingface_types()) +
                  "; nearest: " + joined(nearest_names(type, huggingface_types())));
  return *found;
}

// Returns the family of a language model inside a multimodal one.
const Family& language_family_of(const JsonNode& text) {
  if (!text.has("model_type")) return family_of(text, "llama");
  const std::string type = text.at("model_type").text();
  const Family& family = family_of(text, type);
  if (family.read == nullptr)
    text.at("model_type").fail("no language model", "allowed: the model_type of one, such as llama");
  return family;
}

}  // namespace

std::vector<std::string> huggingface_types() {
  std::vector<std::string> types;
  for (const Family& family : all_families()) types.emplace_back(family.type);
  return types;
}

bool is_huggingface(const JsonNode& node) {
  return node.is_object() && node.has("model_type");
}

TransformerSpec transformer_of_huggingface(const JsonNode& node) {
  const std::string type = node.at("model_type").text();
  const Family& family = family_of(node, type);
  const bool sees_images = family.text_in != nullptr;
  // Earlier configurations of Qwen2-VL mix the keys of the language model with those of the whole.
  const JsonNode text = sees_images && node.has(family.text_in) ? node.at(family.text_in) : node;
  const Family& language = family.read != nullptr ? family : language_family_of(text);
  const ConfigReader config(text, language.class_name);
  if (family.needs_sizes && !text.has("hidden_size")) text.fail("no hidden_size", "give the whole configuration");
  TransformerSpec spec = language.read(config);
  if (sees_images)
    ConfigReader(node, family.class_name)
        .note("model_type", type, "the language model alone; the part that sees images is left out");
  spec.name = type;
  spec.title += std::string(sees_images ? ", the language model alone" : "") + ", " + std::to_string(spec.layers) +
                " layers of " + std::to_string(spec.hidden);
  if (!sees_images) check_architecture(config, spec);
  return spec;
}

}  // namespace lockstep::model
