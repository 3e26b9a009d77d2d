#include "sim/launch/lora_target.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {
namespace {

// Keys that list matrices, in the spelling of PEFT, LLaMA-Factory, axolotl, ms-swift, NeMo, Megatron-Bridge, LLM Foundry.
const std::vector<std::string> kListKeys{"lora_target",
                                         "lora_target_modules",
                                         "target_modules",
                                         "peft.target_modules",
                                         "lora.target_modules",
                                         "model.peft_config.target_modules",
                                         "peft.lora_tuning.target_modules"};
// Keys that are true if a dense network has adapters, too: axolotl, Automodel, torchtune.
const std::vector<std::string> kSwitchKeys{"lora_target_linear", "peft.match_all_linear", "model.apply_lora_to_mlp"};

// Names of the matrices of a dense network in HuggingFace's models, Megatron's and NeMo's.
bool is_of_network(std::string name) {
  static const std::set<std::string> names{"all",
                                           "all-linear",
                                           "all_linear",
                                           "gate_proj",
                                           "up_proj",
                                           "down_proj",
                                           "gate_up_proj",
                                           "w1",
                                           "w2",
                                           "w3",
                                           "fc1",
                                           "fc2",
                                           "c_fc",
                                           "mlp",
                                           "linear_fc1",
                                           "linear_fc2",
                                           "dense_h_to_4h",
                                           "dense_4h_to_h",
                                           "mlp_module",
                                           "wi",
                                           "wi_0",
                                           "wi_1",
                                           "wo",
                                           "gate_and_up_proj"};
  name = lower_case(name);
  for (const char sign : {'.', '*', '/'})
    if (const auto at = name.rfind(sign); at != std::string::npos) name = name.substr(at + 1);
  return names.count(name) > 0;
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
    const bool has_network = std::any_of(names.begin(), names.end(), is_of_network);
    return f.give_from("--lora-target", has_network ? "all" : "attention", s, key);
  }
  if (!otherwise.empty()) f.give_default("--lora-target", otherwise, why);
}

}  // namespace lockstep::sim::launch
