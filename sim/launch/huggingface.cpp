#include "sim/launch/huggingface.hpp"

#include <algorithm>
#include <map>

#include "engine/base/text.hpp"
#include "sim/job/given_split.hpp"
#include "sim/launch/deepspeed.hpp"
#include "sim/launch/named_config.hpp"

namespace lockstep::sim::launch {
namespace {

// The software whose arguments these are. A user's own program may have other defaults.
struct Software {
  std::optional<std::int64_t> default_batch;  // per GPU; none: a user's own program
  bool has_defaults() const { return default_batch.has_value(); }
};

// Names of the same thing in Trainer, LLaMA-Factory, axolotl and scripts around them.
const std::vector<std::string> kLengthKeys{"cutoff_len", "sequence_len", "max_seq_length",
                                           "max_length", "max_seq_len",  "model_max_length",
                                           "block_size", "seq_length",   "seq_len"};
const std::vector<std::string> kModelKeys{"model_name_or_path",
                                          "base_model",
                                          "model_name",
                                          "config_name",
                                          "bert_model",
                                          "model_id",
                                          "pretrained_model_name_or_path",
                                          "model"};
const std::vector<std::string> kMicroBatchKeys{"per_device_train_batch_size", "micro_batch_size",
                                               "per_gpu_train_batch_size"};

std::string given_key(const LaunchSettings& s, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (s.has(key)) return key;
  return "";
}

void read_trainer_length(LaunchSettings& s, Facts& f) {
  const std::string key = given_key(s, kLengthKeys);
  if (!key.empty()) f.sequence = s.whole(key, "--model").value_or(0);
  const auto steps = s.whole("max_steps", "--tokens");
  if (steps && *steps > 0) f.iterations = *steps;
}

void read_model_name(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  for (const std::string& key : kModelKeys)
    if (s.has(key)) give_named_model(s, f, key, catalogue);
}

// True for true, yes, 1, and "auto", which means bf16 if the GPU supports it.
bool is_on_or_auto(LaunchSettings& s, const std::string& key) {
  const std::string text = lower_case(s.text(key, "--precision").value_or(s.has(key) ? "true" : "false"));
  return text == "true" || text == "auto" || text == "1" || text == "yes";
}

void read_trainer_precision(LaunchSettings& s, Facts& f, const Software& software) {
  if (f.has("--precision")) return;
  const std::string mixed = lower_case(s.text("mixed_precision", "--precision").value_or(""));
  const std::string launched = lower_case(s.text("accelerate.mixed_precision", "--precision").value_or(mixed));
  const std::string key = s.has("accelerate.mixed_precision") ? "accelerate.mixed_precision" : "mixed_precision";
  const bool is_pure = s.is_on("pure_bf16", "--precision");
  if (is_pure) return f.give_from("--precision", "bf16-true", s, "pure_bf16");
  if (s.is_on("fp8", "--precision")) return f.give_from("--precision", "fp8", s, "fp8");
  for (const char* name : {"bf16", "fp16"})
    if (s.has(name) && is_on_or_auto(s, name)) return f.give_from("--precision", name, s, name);
  if (launched == "bf16" || launched == "fp16" || launched == "fp8")
    return f.give_from("--precision", launched, s, key);
  const std::string type = lower_case(s.text("dtype", "--precision").value_or(""));
  if (type == "bf16" || type == "bfloat16" || type == "fp16" || type == "float16")
    return f.give_from("--precision", type[0] == 'b' ? "bf16" : "fp16", s, "dtype");
  if (software.has_defaults())
    f.give_default("--precision", s.is_on("tf32", "--precision") ? "tf32" : "fp32", "no half precision is given");
}

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
  if (words.find("offload") != std::string::npos || s.is_on("fsdp_config.fsdp_offload_params"))
    f.give_from("--offload-optimizer", "", s, key);
}

void read_trainer_optimizer(LaunchSettings& s, Facts& f, const Software& software) {
  const std::string key = given_key(s, {"optim", "optimizer"});
  if (key.empty() && !software.has_defaults()) return;
  const std::string name = key.empty() ? "adamw_torch" : lower_case(s.text(key, "--optimizer").value_or("adamw_torch"));
  if (name.find("4bit") != std::string::npos)
    return s.mark(key, Use::not_simulated, "the optimizer's state is predicted in single precision");
  if (name.find("adam") != std::string::npos && name.find("8bit") != std::string::npos)
    f.give_from("--optimizer-state", "8bit", s, key);
  if (name == "adafactor") return f.give_from("--optimizer", "adafactor", s, key);
  if (name.find("adam") != std::string::npos && !f.has("--optimizer"))
    return key.empty() ? f.give_default("--optimizer", "adam", "the Trainer's default")
                       : f.give_from("--optimizer", "adam", s, key);
  if (name == "sgd") return f.give_from("--optimizer", "momentum", s, key);
  if (!key.empty() && name.find("adam") == std::string::npos)
    s.mark(key, Use::not_simulated, "the software's default is predicted");
}

// Reads whether adapters train on frozen weights of four or eight bits (bitsandbytes).
void read_frozen_weights(LaunchSettings& s, Facts& f) {
  for (const char* key : {"load_in_4bit", "load_in_8bit", "quantization_bit", "use_4bit_quantization"}) {
    const std::string value = lower_case(s.text(key, "--frozen-weights").value_or("false"));
    if (value == "false" || value == "none" || value == "null") continue;
    const std::string name = key;
    const bool has_eight = name == "load_in_8bit" || (name == "quantization_bit" && value == "8");
    const bool has_four = name != "quantization_bit" ? !has_eight : value == "4";
    if (!has_eight && !has_four)
      s.mark(key, Use::not_simulated, "the frozen weights are predicted in half precision");
    else if (!f.has("--frozen-weights"))
      f.give_from("--frozen-weights", has_eight ? "int8" : "nf4", s, key);
  }
}

void read_adapters(LaunchSettings& s, Facts& f) {
  const std::string type = lower_case(s.text("finetuning_type").value_or(s.text("adapter").value_or("")));
  const bool uses_peft = s.is_on("use_peft") || s.is_on("use_peft_lora") || s.is_on("use_lora") || s.is_on("q_lora") ||
                         s.whole("lora_dim", "--lora-rank").value_or(0) > 0;
  if (!type.empty() && type != "full" && type != "lora" && type != "qlora")
    fail_at(*s.take(s.has("finetuning_type") ? "finetuning_type" : "adapter"), "cannot be predicted",
            "give full or lora");
  if (type != "lora" && type != "qlora" && !uses_peft) {
    const std::string stage = lower_case(s.text("stage").value_or(""));
    if (stage == "sft")
      f.give_from("--task", kAllWeights, s, "stage");
    else if (stage != "pt" && s.has("base_model"))
      f.give_default("--task", kAllWeights, "axolotl loads trained weights");
    else if (stage != "pt" && s.has("model_name_or_path") && !s.has("config_name"))
      f.give_default("--task", kAllWeights, "model_name_or_path: trained weights are loaded");
    return;
  }
  const std::string key = given_key(s, {"lora_rank", "lora_r", "lora_dim", "peft_lora_r"});
  if (key.empty())
    f.give_default("--lora-rank", "8", "the default of PEFT");
  else
    f.give_from("--lora-rank", std::to_string(s.whole(key, "--lora-rank").value_or(8)), s, key);
  read_frozen_weights(s, f);
}

void refuse_other_stages(LaunchSettings& s) {
  const std::string stage = lower_case(s.text("stage").value_or(""));
  if (!stage.empty() && stage != "sft" && stage != "pt")
    fail_at(*s.take("stage"), "cannot be predicted: only pre-training and supervised fine-tuning are",
            "give pt or sft");
  const std::string other = lower_case(s.text("rl").value_or(""));
  if (!other.empty()) fail_at(*s.take("rl"), "cannot be predicted", "leave it out");
  for (const char* key : {"max_prompt_length", "desirable_weight", "max_completion_length", "reward_model"})
    if (const LaunchSetting* setting = s.take(key); setting != nullptr && setting->value != Json(false))
      fail_at(*setting,
              "preference tuning and reward models cannot be predicted: only pre-training and supervised "
              "fine-tuning are",
              "give another configuration");
}

void read_trainer_batch(LaunchSettings& s, Facts& f, const Software& software) {
  const std::string key = given_key(s, kMicroBatchKeys);
  if (!key.empty()) f.micro_batch = s.whole(key, "--micro-batch");
  if (!f.micro_batch) f.micro_batch = software.default_batch;
  if (const auto steps = s.whole("gradient_accumulation_steps", "--accumulation")) f.accumulation = *steps;
  // In axolotl, "batch_size" is the number of samples per GPU over all micro-batches.
  if (const auto batch = s.whole("batch_size", "--accumulation");
      batch && s.has("base_model") && !f.accumulation && f.micro_batch && *batch >= *f.micro_batch)
    f.accumulation = *batch / std::max<std::int64_t>(1, *f.micro_batch);
  if (!f.accumulation && s.has("accelerate.gradient_accumulation_steps"))
    f.accumulation = s.whole("accelerate.gradient_accumulation_steps", "--accumulation");
  if (!f.global_batch && !f.accumulation && f.micro_batch) f.accumulation = 1;
}

void finish_trainer(LaunchSettings& s, Facts& f, const Software& software) {
  if (!f.has("--sharding") && software.has_defaults()) f.give_default("--sharding", "none", "no sharding is given");
  const std::string key =
      given_key(s, {"gradient_checkpointing", "activation_checkpointing", "fsdp_config.activation_checkpointing",
                    "fsdp_config.fsdp_activation_checkpointing"});
  const bool recomputes = !key.empty() && lower_case(s.text(key, "--recompute").value_or("true")) != "false";
  const bool is_factory = s.has("finetuning_type");
  if (s.text("recompute_granularity", "--recompute").value_or("") == "full")
    f.give_from("--recompute", "full", s, "recompute_granularity");
  if (recomputes)
    f.give_from("--recompute", "full", s, key);
  else if (is_factory && key.empty() && !s.is_on("disable_gradient_checkpointing", "--recompute"))
    f.give_default("--recompute", "full", "LLaMA-Factory's default");
  else if (software.has_defaults())
    f.give_default("--recompute", "none", "no recomputation is given");
}

// Without a value, "--deepspeed" is a flag; then another argument names the file.
bool is_file_name(const LaunchSettings& s, const std::string& key) {
  bool is_name = false;
  for (const LaunchSetting& setting : s.all())
    if (setting.key == key)
      is_name = plain_text(setting.value).find('.') != std::string::npos || !setting.unknown.empty();
  return is_name;
}

// Accepts "ds_z3.json", "zero3", or the configuration's keys below "deepspeed".
void read_deepspeed_of_trainer(LaunchSettings& s, Facts& f, const ReadNamedFile& read_named) {
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
  for (const char* key : {"deepspeed_config.zero_stage", "accelerate.zero_stage", "zero_stage"})
    if (const auto stage = s.whole(key, "--sharding"))
      f.give_from("--sharding", *stage == 0 ? "none" : "zero" + std::to_string(*stage), s, key);
  const std::string offload = s.text("deepspeed_config.offload_optimizer_device")
                                  .value_or(s.text("accelerate.offload_optimizer_device").value_or("none"));
  if (offload != "none")
    f.give_flag("--offload-optimizer",
                s.take(s.has("accelerate.offload_optimizer_device") ? "accelerate.offload_optimizer_device"
                                                                    : "deepspeed_config.offload_optimizer_device")
                    ->place,
                "offload_optimizer_device");
  if (s.has("deepspeed_config.gradient_accumulation_steps"))
    f.accumulation = s.whole("deepspeed_config.gradient_accumulation_steps", "--accumulation");
  if (has_any_key(s, {"zero_optimization.stage", "deepspeed_config.zero_stage", "accelerate.zero_stage", "zero_stage"}))
    f.give_default("--software", "DeepSpeed", "its configuration");
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
  if (f.number_of("--tensor", 1) > 1) f.give_flag("--sequence-parallel", s, "sequence_parallel");
}

// LLaMA-Factory's second format has other names for the same settings.
void rename_factory_keys(LaunchSettings& s) {
  if (!s.has("model_class") && !s.has("dist_config.name")) return;
  s.rename("model", "model_name_or_path");
  s.rename("peft_config.name", "finetuning_type");
  s.rename("peft_config.r", "lora_rank");
  s.rename("dist_config.config_file", "deepspeed");
  s.rename("optim_config.name", "optim");
  if (const LaunchSetting* kind = s.take("dist_config.name"))
    if (lower_case(plain_text(kind->value)).find("fsdp") == 0) s.replace_key("dist_config.name", "fsdp", "full_shard");
}

void read_machine_of_accelerate(LaunchSettings& s, Facts& f) {
  const LaunchSetting* nodes = s.take("num_machines", "--gpus");
  if (nodes != nullptr) f.give_nodes(s.whole("num_machines").value_or(1), nodes->place, nodes->written);
  const LaunchSetting* processes = s.take("num_processes", "--gpus");
  if (processes != nullptr) f.give_gpus(s.whole("num_processes").value_or(1), processes->place, processes->written);
  s.text("distributed_type");
  s.text("use_fsdp");
}

// The Trainer's --deepspeed names a file. Without a value, it belongs to a user's own program, such as DeepSpeed-Chat.
bool is_own_program(const LaunchSettings& s) {
  bool is_flag = s.has("zero_stage");
  for (const LaunchSetting& setting : s.all())
    is_flag = is_flag || (setting.key == "deepspeed" && setting.value.is_null() && setting.written == "--deepspeed");
  return is_flag;
}

void read_trainer(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named,
                  const Software& given_software) {
  const Software software = is_own_program(s) ? Software{} : given_software;
  for (const char* key : {"accelerate.config_file", "accelerate_config"})
    append_named_file(s, key, "", read_named, "--sharding");
  if (s.file_name("fsdp_config")) append_named_file(s, "fsdp_config", "fsdp_config.", read_named, "");
  rename_factory_keys(s);
  refuse_other_stages(s);
  read_machine_of_accelerate(s, f);
  read_trainer_length(s, f);
  read_model_name(s, f, catalogue);
  read_deepspeed_of_trainer(s, f, read_named);
  read_fsdp(s, f);
  read_trainer_ranks(s, f);
  if (!f.has("--software") && (software.has_defaults() || f.has("--sharding"))) {
    const bool is_compiled = s.is_on("torch_compile");
    const bool is_sharded = f.has("--sharding");
    f.give_default(
        "--software",
        is_sharded ? (is_compiled ? "PyTorch FSDP torch.compile" : "PyTorch FSDP") : "HuggingFace Transformers",
        "the Trainer");
  }
  read_trainer_precision(s, f, software);
  read_trainer_optimizer(s, f, software);
  read_adapters(s, f);
  read_trainer_batch(s, f, software);
  finish_trainer(s, f, software);
}

void read_accelerate_file(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  const bool has_batch = has_any_key(s, {"per_device_train_batch_size"});
  read_trainer(s, f, catalogue, read_named, {1});
  if (!has_batch)
    f.notes.push_back("Accelerate's configuration gives no batch: one sample of a GPU is assumed (--micro-batch)");
}

// For a torchtitan program, a configuration in Python is named by its model.
void read_titan_program(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const LaunchSetting* const program = s.take("program");
  if (program == nullptr || plain_text(program->value).find("torchtitan") == std::string::npos) return;
  f.give_from("--software", "torchtitan", s, "program");
  give_named_model(s, f, "config", catalogue);
  s.mark("module", Use::no_effect, "where the configuration in Python lies, which is not read");
}

// For a user's own program, reads the arguments that have HuggingFace's names.
void read_program(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  read_titan_program(s, f, catalogue);
  read_trainer(s, f, catalogue, read_named, {});
  if (!f.micro_batch && !f.global_batch)
    if (const LaunchSetting* const program = s.take("program"))
      s.require_option(*program, "--batch", "its arguments give no batch that is known: samples of a GPU");
}

bool is_trainer(const LaunchSettings& s) {
  return has_any_key(s, {"per_device_train_batch_size", "per_gpu_train_batch_size"}) &&
         !has_any_key(s, {"finetuning_type", "base_model", "model_class"});
}

}  // namespace

std::vector<LaunchReader> huggingface_readers() {
  const std::vector<UnreadKeys> unread = both_tables(trainer_unread(), deepspeed_unread());
  const auto with_batch = [](std::int64_t batch) {
    return [batch](LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
      read_trainer(s, f, catalogue, read_named, {batch});
    };
  };
  constexpr std::int64_t kTrainerBatch = 8;  // of transformers' TrainingArguments
  return {
      {LaunchFormat::huggingface, "arguments of HuggingFace's Trainer", is_trainer, with_batch(kTrainerBatch), unread},
      {LaunchFormat::accelerate, "Accelerate's configuration",
       [](const LaunchSettings& s) {
         return has_any_key(s, {"distributed_type", "compute_environment"}) && !is_trainer(s);
       },
       read_accelerate_file, unread},
      {LaunchFormat::llama_factory, "LLaMA-Factory's configuration",
       [](const LaunchSettings& s) {
         return has_any_key(s, {"finetuning_type", "model_class"}) ||
                (s.has("dist_config.name") && s.has("micro_batch_size"));
       },
       with_batch(kTrainerBatch), unread},
      {LaunchFormat::axolotl, "axolotl's configuration", [](const LaunchSettings& s) { return s.has("base_model"); },
       with_batch(1), unread},
      {LaunchFormat::program, "a program's own arguments", [](const LaunchSettings&) { return false; }, read_program,
       unread},
  };
}

}  // namespace lockstep::sim::launch
