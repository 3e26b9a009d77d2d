#include "sim/launch/lora_target.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "engine/base/text.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

// Keys that list matrices: PEFT, LLaMA-Factory, axolotl, ms-swift, NeMo, Megatron-Bridge, LLM Foundry.
const std::vector<std::string> kListKeys{"lora_target",
                                         "lora_target_modules",
                                         "target_modules",
                                         "peft.target_modules",
                                         "lora.target_modules",
                                         "model.peft_config.target_modules",
                                         "peft.lora_tuning.target_modules"};
// Keys that are true if a dense network has adapters, too: axolotl, Automodel, torchtune.
const std::vector<std::string> kSwitchKeys{"lora_target_linear", "peft.match_all_linear", "model.apply_lora_to_mlp"};

// Whether the text names matrices of a dense network, as HuggingFace's models, Megatron and NeMo call them. It may be a
// wildcard ("*_proj") or a regular expression.
bool names_network(const std::string& text) {
  static const std::set<std::string> whole{"all", "all-linear", "all_linear", "w1", "w2", "w3", "wi", "wo", "*"};
  static const std::vector<std::string> parts{"*_proj", "gate", "up_proj", "down_proj",    "mlp",
                                              "fc1",    "fc2",  "fc_in",   "fc_out",       "c_fc",
                                              "4h",     "ffn",  "wi_",     "feed_forward", "*linear"};
  const std::string name = lower_case(text);
  if (whole.count(name) > 0 || whole.count(last_part_of(name, '.')) > 0) return true;
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

}  // namespace

void read_lora_target(LaunchSettings& s, Facts& f, const std::string& otherwise, const std::string& why) {
  if (!f.has("--lora-rank") || f.has("--lora-target")) return;
  for (const std::string& key : kSwitchKeys)
    if (s.has(key) && s.is_on(key, "--lora-target")) return f.give_from("--lora-target", "all", s, key);
  for (const std::string& key : kListKeys) {
    if (!s.has(key)) continue;
    const std::vector<std::string> names = s.words(key, "--lora-target");
    if (names.empty()) continue;
    const bool has_network = std::any_of(names.begin(), names.end(), names_network);
    return f.give_from("--lora-target", has_network ? "all" : "attention", s, key);
  }
  if (!otherwise.empty()) f.give_default("--lora-target", otherwise, why);
}

}  // namespace lockstep::sim::launch
