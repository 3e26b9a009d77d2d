#include "sim/launch/trainer_sharding.hpp"

#include <algorithm>
#include <map>

#include "engine/base/text.hpp"
#include "sim/launch/deepspeed.hpp"
#include "sim/launch/deepspeed_conflicts.hpp"
#include "sim/launch/named_config.hpp"

namespace lockstep::sim::launch {
namespace {

// Accelerate also writes a strategy by number (torch.distributed.fsdp.ShardingStrategy, starting at 1).
std::string strategy_name(const std::string& strategy) {
  static const std::map<std::string, std::string> numbers{{"1", "full_shard"},
                                                          {"2", "shard_grad_op"},
                                                          {"3", "no_shard"},
                                                          {"4", "hybrid_shard"},
                                                          {"5", "hybrid_shard_zero2"}};
  const auto found = numbers.find(strategy);
  return found == numbers.end() ? lower_case(strategy) : found->second;
}

// Without a value, "--deepspeed" is a flag; then another argument names the file.
bool is_file_name(const LaunchSettings& s, const std::string& key) {
  bool is_name = false;
  for (const LaunchSetting& setting : s.all())
    if (setting.key == key)
      is_name = plain_text(setting.value).find_first_of(".{") != std::string::npos || !setting.unknown.empty();
  return is_name;
}

// Whether the program has an argument with this key, which is not of Accelerate's file.
bool is_argument(const LaunchSettings& s, const std::string& key) {
  return std::any_of(s.all().begin(), s.all().end(), [&](const LaunchSetting& setting) {
    return setting.key == key && setting.written.compare(0, 2, "--") == 0;
  });
}

// Options of "accelerate launch" override the keys of its --config_file, which may be in a section.
void set_aside_overridden_keys(LaunchSettings& s) {
  std::vector<std::pair<std::string, std::string>> overridden;
  const std::string prefix = "accelerate.";
  for (const LaunchSetting& setting : s.all()) {
    if (setting.key.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string name = setting.key.substr(prefix.size());
    for (const std::string section : {"", "fsdp_config.", "deepspeed_config.", "parallelism_config."})
      if (s.has(section + name) && !is_argument(s, section + name))
        overridden.emplace_back(section + name, setting.place.text());
  }
  for (const auto& [key, place] : overridden) s.set_aside(key, "given again at " + place);
}

}  // namespace

void read_fsdp(LaunchSettings& s, Facts& f) {
  std::string key = "fsdp";
  std::string words = lower_case(s.text("fsdp", "--sharding").value_or(""));
  if (words == "[]" || words == "false") words.clear();
  for (const char* other :
       {"fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy", "accelerate.fsdp_sharding_strategy",
        "accelerate_config.fsdp_config.fsdp_sharding_strategy", "fsdp_sharding_strategy"})
    if (const auto strategy = s.text(other, "--sharding")) {
      words += " " + strategy_name(*strategy);
      key = other;
    }
  const bool reshards = s.boolean("fsdp_config.fsdp_reshard_after_forward", "--sharding").value_or(true);
  if (words.empty()) {
    // FSDP2 has no strategies. It shards everything; weights are freed after the forward pass, or kept.
    for (const char* other : {"fsdp_config.fsdp_version", "accelerate.use_fsdp", "fsdp_version"})
      if (s.has(other)) f.give_from("--sharding", reshards ? "zero3" : "zero2", s, other);
    return;
  }
  const bool is_hybrid = words.find("hybrid") != std::string::npos || words.find("_zero2") != std::string::npos;
  const bool keeps_weights =
      words.find("shard_grad_op") != std::string::npos || words.find("hybrid_shard_zero2") != std::string::npos;
  if (words.find("no_shard") != std::string::npos) return f.give_from("--sharding", "none", s, key);
  f.give_from("--sharding", keeps_weights || !reshards ? "zero2" : "zero3", s, key);
  f.shards_in_nodes = is_hybrid;
  if (words.find("offload") != std::string::npos || s.is_on("fsdp_config.fsdp_offload_params", "--offload-optimizer"))
    f.give_from("--offload-optimizer", "", s, key);
}

// Accepts "ds_z3.json", a JSON text, or the configuration's keys below "deepspeed".
void read_deepspeed_of_trainer(LaunchSettings& s, Facts& f, const ReadNamedFile& read_named) {
  const std::size_t first = s.all().size();  // of the configuration's settings
  for (const char* key : {"deepspeed", "accelerate.deepspeed_config_file", "deepspeed_config.deepspeed_config_file",
                          "deepspeed_config_file", "deepspeed_config", "ds_config", "ds_config_path"})
    if (is_file_name(s, key)) append_named_file(s, key, "", read_named, "--sharding");
  std::vector<LaunchSetting> below;
  for (const LaunchSetting& setting : s.all())
    if (setting.key.compare(0, 10, "deepspeed.") == 0 && setting.key.compare(0, 13, "deepspeed.num") != 0 &&
        setting.written.compare(0, 2, "--") != 0)
      below.push_back(setting);
  for (LaunchSetting setting : below) {
    s.mark(setting.key, Use::read, "");
    setting.key.erase(0, 10);
    s.add(setting);
  }
  s.set_aside_auto();
  s.rename("gradient_accumulation_steps", kAccumulationOfDeepspeed, first);
  for (const char* key : {"deepspeed_config.zero_stage", "accelerate.zero_stage", "zero_stage"})
    if (const auto stage = s.whole(key, "--sharding"))
      f.give_from("--sharding", *stage == 0 ? "none" : "zero" + std::to_string(*stage), s, key);
  const std::string offload =
      s.text("deepspeed_config.offload_optimizer_device", "--offload-optimizer")
          .value_or(s.text("accelerate.offload_optimizer_device", "--offload-optimizer").value_or("none"));
  if (offload != "none")
    f.give_flag("--offload-optimizer",
                s.take(s.has("accelerate.offload_optimizer_device") ? "accelerate.offload_optimizer_device"
                                                                    : "deepspeed_config.offload_optimizer_device")
                    ->place,
                "offload_optimizer_device");
  if (s.has("deepspeed_config.gradient_accumulation_steps"))
    f.accumulation = s.whole("deepspeed_config.gradient_accumulation_steps", "--accumulation");
  if (has_any_key(s, {"zero_optimization.stage", "deepspeed_config.zero_stage", "accelerate.zero_stage", "zero_stage"}))
    f.give_default("--software", "Transformers with DeepSpeed", "DeepSpeed's configuration");
  read_deepspeed(s, f);
}

// Reads tensor, context and expert parallelism of axolotl, Accelerate and LLaMA-Factory.
void read_trainer_ranks(LaunchSettings& s, Facts& f) {
  static const std::vector<std::pair<std::string, std::string>> kDegrees{
      {"tensor_parallel_size", "--tensor"},
      {"tensor_model_parallel_size", "--tensor"},
      {"parallelism_config.parallelism_config_tp_size", "--tensor"},
      {"accelerate.parallelism_config_tp_size", "--tensor"},
      {"pipeline_model_parallel_size", "--pipeline"},
      {"context_parallel_size", "--context"},
      {"sequence_parallel_degree", "--context"},
      {"sequence_parallel_size", "--context"},
      {"ulysses_degree", "--context"},
      {"cp_size", "--context"},
      {"parallelism_config.parallelism_config_cp_size", "--context"},
      {"accelerate.parallelism_config_cp_size", "--context"},
      {"parallelism_config.parallelism_config_sp_size", "--context"},
      {"accelerate.parallelism_config_sp_size", "--context"},
      {"expert_model_parallel_size", "--expert"},
      {"expert_parallel_size", "--expert"},
      {"dist_config.ep_size", "--expert"}};
  for (const auto& [key, option] : kDegrees)
    if (s.whole(key, option).value_or(1) > 1) f.give_whole(option, s, key);
  for (const std::string prefix : {"", "parallelism_config.parallelism_config_", "accelerate.parallelism_config_"}) {
    const bool is_axolotl = prefix.empty();
    const std::string shards = prefix + "dp_shard_size", copies = prefix + "dp_replicate_size";
    const auto shard = s.whole(shards, "--sharding-group"), copy = s.whole(copies, "--sharding-group");
    if (!is_axolotl && shard && *shard > 1 && !f.has("--sharding")) f.give_from("--sharding", "zero3", s, shards);
    if (shard && *shard > 1 && copy && *copy > 1) f.give_from("--sharding-group", std::to_string(*shard), s, shards);
  }
  if (s.is_on("use_distributed_optimizer", "--sharding") && !f.has("--sharding"))
    f.give_from("--sharding", "zero1", s, "use_distributed_optimizer");
  if (f.number_of("--tensor", 1) > 1)
    f.give_flag("--sequence-parallel", s, "sequence_parallel");
  else
    s.mark("sequence_parallel", Use::no_effect, "one tensor rank");
}

// "0,1" are the GPUs of each machine; "all" says nothing. Accelerate starts a process for each, unless it is told how many
// (accelerate/commands/launch.py).
void read_gpu_ids(LaunchSettings& s, Facts& f, const std::string& key) {
  if (!s.has(key) || s.has("accelerate.num_processes") || s.text(key).value_or("all") == "all") return;
  const std::vector<std::string> ids = s.words(key, "--gpus");
  const LaunchSetting* const setting = s.take(key);
  if (setting != nullptr && !ids.empty())
    f.give_gpus_per_node(static_cast<std::int64_t>(ids.size()), setting->place, setting->written);
}

void read_machine_of_accelerate(LaunchSettings& s, Facts& f) {
  const LaunchSetting* nodes = s.take("num_machines", "--gpus");
  if (nodes != nullptr) f.give_nodes(s.whole("num_machines").value_or(1), nodes->place, nodes->written);
  const LaunchSetting* processes = s.take("num_processes", "--gpus");
  if (processes != nullptr) f.give_gpus(s.whole("num_processes").value_or(1), processes->place, processes->written);
  if (processes == nullptr) read_gpu_ids(s, f, s.has("accelerate.gpu_ids") ? "accelerate.gpu_ids" : "gpu_ids");
  s.text("distributed_type");
  s.text("use_fsdp");
}

void append_accelerate_file(LaunchSettings& s, const ReadNamedFile& read_named) {
  for (const char* key : {"accelerate.config_file", "accelerate_config"})
    append_named_file(s, key, "", read_named, "--sharding");
  set_aside_overridden_keys(s);
}

}  // namespace lockstep::sim::launch
