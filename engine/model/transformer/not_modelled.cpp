// Configurations that are recognised but refused, with the reasons.
#include <map>

#include "engine/base/text.hpp"
#include "engine/model/transformer/composite.hpp"
#include "engine/model/transformer/huggingface.hpp"

namespace lockstep::model {
namespace {

constexpr const char* kStateSpace =
    "its state-space layers stand in parallel with attention or share weights, which is not modelled";
constexpr const char* kLinear = "its layers of linear attention are not modelled";
constexpr const char* kHeads = "its layers have heads of different sizes, which are not modelled";
constexpr const char* kSelected = "each of its tokens attends to a few selected ones, which is not modelled";
constexpr const char* kSound = "it reads sound by convolutions, which is not modelled";
constexpr const char* kTowers = "it has two towers with one loss, which are not modelled";
constexpr const char* kImages = "it reads images and text, and the part that sees images is not modelled";

// Keys are transformers' "model_type".
const std::map<std::string, const char*>& reasons() {
  static const std::map<std::string, const char*> all{
      {"zamba", kStateSpace},      {"zamba2", kStateSpace},      {"falcon_h1", kStateSpace}, {"kimi_linear", kLinear},
      {"rwkv", kLinear},           {"recurrent_gemma", kLinear}, {"wav2vec2", kSound},       {"siglip", kTowers},
      {"gemma3n", kImages},        {"mllama", kImages},          {"gemma4", kHeads},         {"gemma4_text", kHeads},
      {"deepseek_v32", kSelected}, {"glm_moe_dsa", kSelected}};
  return all;
}

std::string text_or(const JsonNode& node, const char* key, const std::string& otherwise) {
  const auto found = node.find(key);
  return found && found->is_string() ? found->text() : otherwise;
}

// PEFT's adapter_config.json describes the adapter, not its base model.
void refuse_adapter(const JsonNode& node) {
  const auto rank = node.find("r");
  const bool has_rank = rank && rank->is_number();
  const std::string of_rank = has_rank ? " of rank " + rank->json().dump() : "";
  const std::string option = has_rank ? " with --lora-rank " + rank->json().dump() : "";
  node.at("peft_type")
      .fail("an adapter (" + text_or(node, "peft_type", "PEFT") + of_rank + "), no model",
            "allowed: the config.json of " + text_or(node, "base_model_name_or_path", "the model that it adapts") +
                option);
}

}  // namespace

std::string why_not_modelled(const std::string& model_type) {
  const auto found = reasons().find(model_type);
  return found == reasons().end() ? "" : found->second;
}

void refuse_other_configuration(const JsonNode& node) {
  if (!node.is_object()) return;
  if (node.has("peft_type")) refuse_adapter(node);
  if (node.has("_class_name"))
    node.at("_class_name")
        .fail("a part of a diffusion model (" + text_or(node, "_class_name", "diffusers") +
                  "), whose layers are not modelled",
              "allowed: that of " + joined(composite_types()) + ", or a model layer by layer (engine/model/README.md)");
}

}  // namespace lockstep::model
