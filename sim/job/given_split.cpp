#include "sim/job/given_split.hpp"

#include <algorithm>

#include "sim/catalogue/name_index.hpp"

namespace lockstep::sim::job {
namespace {

bool is_decided_elsewhere(const std::string& key) {
  return key == "data" || key == "lora_rank" || key == "global_batch" || key == "micro_batches";
}

// Returns the value of the choice with that name, in any spelling ("1F1B"). Empty: no such choice, or no choice at all.
std::string spelled_choice(const std::string& key, const JsonNode& node) {
  const Json& schema = parallel_format().text_of(key).schema;
  if (!node.is_string() || !schema.contains("enum")) return "";
  const std::string plain = plain_name(node.json().get<std::string>());
  for (const Json& name : schema.at("enum"))
    if (plain_name(name.get<std::string>()) == plain) return name.get<std::string>();
  return "";
}

void read_value(const std::string& key, const Json& value, const std::string& where, ParallelSpec& spec) {
  const JsonDocument document = JsonDocument::parse(Json{{key, value}}.dump(), where);
  parallel_format().read_value(key, document.root().at(key), spec);
}

}  // namespace

bool GivenSplit::has(const std::string& key) const {
  return !parallel_format().text_of(key).key.empty() && keys.count(key) > 0;
}

void GivenSplit::give(const std::string& key, const JsonNode& node) {
  if (const std::string choice = spelled_choice(key, node); !choice.empty())
    read_value(key, choice, "split", values);
  else
    parallel_format().read_value(key, node, values);
  if (key == "lora_rank") task = kAdapters;
  keys.insert(key);
}

void GivenSplit::give(const std::string& key, const Json& value, const std::string& where) {
  const JsonDocument document = JsonDocument::parse(Json{{key, value}}.dump(), where);
  give(key, document.root().at(key));
}

bool GivenSplit::divides_replicas() const {
  return std::max({values.tensor, values.pipeline, values.context, values.expert}) > 1;
}

std::set<std::string> fixed_keys(const GivenSplit& split) {
  std::set<std::string> fixed;
  for (const std::string& key : split.keys)
    if (!is_decided_elsewhere(key)) fixed.insert(key);
  return fixed;
}

void GivenSplit::leave_out(const std::string& key) {
  keys.erase(key);
  ParallelSpec left;
  for (const std::string& given : keys) read_value(given, parallel_format().write_value(given, values), "split", left);
  values = left;
}

void apply_given_split(const GivenSplit& split, ParallelSpec& spec) {
  for (const std::string& key : fixed_keys(split))
    read_value(key, parallel_format().write_value(key, split.values), "split", spec);
}

std::string usual_software(const GivenSplit& split) {
  const ShardingStage sharding = split.values.sharding;
  const bool has_adapters = split.values.lora_rank > 0 || split.task == kAdapters;
  const bool is_quantised = split.values.frozen_weights != FrozenWeights::whole;
  if (has_adapters && !split.divides_replicas() && (is_quantised || sharding == ShardingStage::none))
    return "HuggingFace Transformers";
  if (sharding == ShardingStage::zero3 && !split.divides_replicas()) return "PyTorch FSDP";
  if (sharding == ShardingStage::zero2 && !split.divides_replicas()) return "DeepSpeed";
  if ((split.is_searched && !split.fits_one_gpu.value_or(false)) || split.divides_replicas() ||
      sharding == ShardingStage::zero1)
    return "Megatron-LM";
  return "PyTorch";
}

}  // namespace lockstep::sim::job
