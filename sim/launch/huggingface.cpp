#include "sim/launch/huggingface.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/job/given_split.hpp"
#include "sim/launch/deepspeed.hpp"
#include "sim/launch/deepspeed_conflicts.hpp"
#include "sim/launch/fused_layers.hpp"
#include "sim/launch/lora_target.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/swift.hpp"
#include "sim/launch/trainer_sharding.hpp"
#include "sim/launch/words.hpp"

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

bool is_off(const std::string& text) {
  return text.empty() || text == "false" || text == "no" || text == "0" || text == "off";
}

// True for true, yes, 1, and "auto", which means bf16 if the GPU supports it. "full" is axolotl's: no fp32 at all.
bool is_on_or_auto(LaunchSettings& s, const std::string& key) {
  const std::string text = s.switch_value(key, "--precision");
  return text == "true" || text == "auto" || text == "1" || text == "yes" || text == "full" || text == "on";
}

void read_trainer_precision(LaunchSettings& s, Facts& f, const Software& software) {
  if (f.has("--precision")) return;
  const std::string mixed = lower_case(s.text("mixed_precision", "--precision").value_or(""));
  const std::string launched = lower_case(s.text("accelerate.mixed_precision", "--precision").value_or(mixed));
  const std::string key = s.has("accelerate.mixed_precision") ? "accelerate.mixed_precision" : "mixed_precision";
  const bool is_pure = s.is_on("pure_bf16", "--precision");
  if (is_pure) return f.give_from("--precision", "bf16-true", s, "pure_bf16");
  if (s.is_on("fp8", "--precision")) return f.give_from("--precision", "fp8", s, "fp8");
  if (s.switch_value("bf16", "--precision") == "full") return f.give_from("--precision", "bf16-true", s, "bf16");
  for (const char* name : {"bf16", "fp16"})
    if (s.has(name) && is_on_or_auto(s, name)) return f.give_from("--precision", name, s, name);
  // axolotl: without automatic mixed precision, weights are bf16 or fp16 themselves.
  for (const auto& [name, precision] :
       {std::pair<const char*, const char*>{"bfloat16", "bf16-true"}, {"float16", "fp16"}})
    if (s.has(name) && is_on_or_auto(s, name)) return f.give_from("--precision", precision, s, name);
  if (launched == "bf16" || launched == "fp16" || launched == "fp8")
    return f.give_from("--precision", launched, s, key);
  const std::string type = lower_case(s.text("dtype", "--precision").value_or(""));
  if (type == "bf16" || type == "bfloat16" || type == "fp16" || type == "float16")
    return f.give_from("--precision", type[0] == 'b' ? "bf16" : "fp16", s, "dtype");
  if (software.has_defaults())
    f.give_default("--precision", s.is_on("tf32", "--precision") ? "tf32" : "fp32", "no half precision is given");
}

void read_trainer_optimizer(LaunchSettings& s, Facts& f, const Software& software) {
  const std::string key = given_key(s, {"optim", "optimizer"});
  if (key.empty() && !software.has_defaults()) return;
  const std::string name = key.empty() ? "adamw_torch" : lower_case(s.text(key, "--optimizer").value_or("adamw_torch"));
  if (name.find("4bit") != std::string::npos)
    return s.mark(key, Use::not_simulated, "the optimizer's state is predicted in single precision");
  if (name.compare(0, 7, "galore_") == 0 || name.compare(0, 7, "apollo_") == 0)
    return s.mark(key, Use::not_simulated, "its state of low rank: the software's default is predicted");
  if (name.find("adam") != std::string::npos && name.find("8bit") != std::string::npos)
    f.give_from("--optimizer-state", "8bit", s, key);
  if (name == "adafactor") return f.give_from("--optimizer", "adafactor", s, key);
  if (name.find("adam") != std::string::npos && !f.has("--optimizer"))
    return key.empty() ? f.give_default("--optimizer", "adam", "the Trainer's default")
                       : f.give_from("--optimizer", "adam", s, key);
  // The Trainer's is torch.optim.SGD with its default, no momentum (Trainer.get_optimizer_cls_and_kwargs).
  if (name == "sgd") return f.give_from("--optimizer", software.has_defaults() ? "sgd" : "momentum", s, key);
  if (!key.empty() && name.find("adam") == std::string::npos)
    s.mark(key, Use::not_simulated, "the software's default is predicted");
}

// Reads whether adapters train on frozen weights of four or eight bits (bitsandbytes).
void read_frozen_weights(LaunchSettings& s, Facts& f) {
  const std::string method = lower_case(s.text("quantization_method", "--frozen-weights").value_or(""));
  if (method == "gptq") return f.give_from("--frozen-weights", "gptq", s, "quantization_method");
  for (const char* key : {"gptq", "q_lora"})  // axolotl; Qwen's scripts, whose models of four bits are AutoGPTQ's
    if (s.is_on(key, "--frozen-weights")) return f.give_from("--frozen-weights", "gptq", s, key);
  for (const char* key : {"load_in_4bit", "load_in_8bit", "quantization_bit", "use_4bit_quantization"}) {
    const std::string value = s.switch_value(key, "--frozen-weights");
    if (is_off(value)) continue;
    const std::string name = key;
    const bool has_eight = name == "load_in_8bit" || (name == "quantization_bit" && value == "8");
    const bool has_four = name != "quantization_bit" ? !has_eight : value == "4";
    if (!has_eight && !has_four)
      s.mark(key, Use::not_simulated, "the frozen weights are predicted in half precision");
    else if (!f.has("--frozen-weights"))
      f.give_from("--frozen-weights", has_eight ? "int8" : "nf4", s, key);
  }
}

// TRL and axolotl train all weights if only the rank of adapters is given.
void note_rank_without_adapters(LaunchSettings& s, Facts& f, const std::string& key) {
  const std::string other = s.has("base_model") ? "adapter: lora" : "--use_peft";
  f.notes.push_back(s.at(key).text() + ": without " + other + " the software trains all weights, as predicted; add " +
                    other + " to train adapters");
  s.mark(key, Use::no_effect, "without " + other + " no adapters are trained");
}

// A program may read a configuration that is an argument without an option, as "sft.py config.yaml".
void list_unread_files(LaunchSettings& s) {
  for (const LaunchSetting& setting : s.all())
    for (const char* ending : {".yaml", ".yml", ".json"})
      if (setting.key == "argument" && setting.use == Use::unread && ends_with(setting.written, ending))
        s.mark_written(setting.written, Use::unknown,
                       "its values are not known; if the program reads it, write --config before its name");
}

void read_adapters(LaunchSettings& s, Facts& f) {
  const std::string type =
      lower_case(s.text("finetuning_type", "--task").value_or(s.text("adapter", "--task").value_or("")));
  const bool uses_peft = s.is_on("use_peft", "--task") || s.is_on("use_peft_lora", "--task") ||
                         s.is_on("use_lora", "--task") || s.is_on("q_lora", "--task") ||
                         s.whole("lora_dim", "--lora-rank").value_or(0) > 0;
  if (!type.empty() && type != "full" && type != "lora" && type != "qlora")
    fail_at(s.at(s.has("finetuning_type") ? "finetuning_type" : "adapter"), "cannot be predicted", "give full or lora");
  const std::string key = given_key(s, {"lora_rank", "lora_r", "lora_dim", "peft_lora_r"});
  if (type != "lora" && type != "qlora" && !uses_peft) {
    if (type.empty() && !key.empty()) note_rank_without_adapters(s, f, key);
    const std::string stage = lower_case(s.text("stage", "--task").value_or(""));
    if (stage == "sft")
      f.give_from("--task", kAllWeights, s, "stage");
    else if (stage != "pt" && s.has("base_model"))
      f.give_default("--task", kAllWeights, "axolotl loads trained weights");
    else if (stage != "pt" && s.has("model_name_or_path") && !s.has("config_name"))
      f.give_default("--task", kAllWeights, "model_name_or_path: trained weights are loaded");
    return;
  }
  if (key.empty())
    f.give_default("--lora-rank", "8", "the default of PEFT");
  else
    f.give_from("--lora-rank", std::to_string(s.whole(key, "--lora-rank").value_or(8)), s, key);
  const bool adapts_all = s.has("finetuning_type");
  read_lora_target(s, f, adapts_all ? "all" : "", "the default of LLaMA-Factory and ms-swift");
  read_frozen_weights(s, f);
}

// Whether a part of the name, such as "dpo" in "run_dpo.py", is a method other than supervised training.
bool is_other_method(const std::string& name) {
  std::string part;
  const std::string file = last_part_of(name);
  for (const char c : lower_case(file) + ".") {
    if ((c >= 'a' && c <= 'z') || is_digit(c)) {
      part += c;
      continue;
    }
    for (const char* other : {"dpo", "grpo", "ppo", "kto", "orpo", "simpo", "rloo", "rlhf", "reward"})
      if (part == other) return true;
    part.clear();
  }
  return false;
}

// "dpo.py", and "trl dpo".
void refuse_other_programs(LaunchSettings& s) {
  const LaunchSetting* const program = s.take("program");
  if (program == nullptr) return;
  const std::string wrong = "preference tuning and reinforcement learning cannot be predicted";
  if (is_other_method(plain_text(program->value))) fail_at(*program, wrong, "give a supervised training");
  if (plain_text(program->value) != "trl") return;
  for (const LaunchSetting& setting : s.all())
    if (setting.key == "argument" && is_other_method(plain_text(setting.value)))
      fail_at(setting, wrong, "give a supervised training");
}

void refuse_other_stages(LaunchSettings& s) {
  refuse_other_programs(s);
  const std::string stage = lower_case(s.text("stage", "--task").value_or(""));
  if (!stage.empty() && stage != "sft" && stage != "pt")
    fail_at(s.at("stage"), "cannot be predicted: only pre-training and supervised fine-tuning are", "give pt or sft");
  const std::string other = lower_case(s.text("rl").value_or(""));
  if (!other.empty()) fail_at(s.at("rl"), "cannot be predicted", "leave it out");
  for (const char* key :
       {"max_prompt_length", "desirable_weight", "max_completion_length", "reward_model", "process_reward_model"})
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
  if (const auto steps = s.whole("gradient_accumulation_steps", "--accumulation")) {
    f.accumulation = *steps;
    for (const char* other :
         {"deepspeed_config.gradient_accumulation_steps", "accelerate.gradient_accumulation_steps"}) {
      const LaunchSetting& used = s.at("gradient_accumulation_steps");
      if (const LaunchSetting* unused = s.take(other); unused != nullptr && unused->value != used.value)
        f.notes.push_back(unused->text() + " is not used, because of " + used.text());
      s.set_aside(other, "given again at " + used.place.text());
    }
  }
  // In axolotl, "batch_size" is the number of samples per GPU over all micro-batches.
  if (const auto batch = s.whole("batch_size", "--accumulation");
      batch && s.has("base_model") && !f.accumulation && f.micro_batch && *batch >= *f.micro_batch)
    f.accumulation = *batch / std::max<std::int64_t>(1, *f.micro_batch);
  if (!f.accumulation && s.has("accelerate.gradient_accumulation_steps"))
    f.accumulation = s.whole("accelerate.gradient_accumulation_steps", "--accumulation");
  if (!f.global_batch && !f.accumulation && f.micro_batch) f.accumulation = 1;
}

void finish_trainer(LaunchSettings& s, Facts& f, const Software& software) {
  if (!f.has("--sharding") && software.has_defaults() && !s.needs_option("--sharding"))
    f.give_default("--sharding", "none", "no sharding is given");
  const std::string key =
      given_key(s, {"gradient_checkpointing", "activation_checkpointing", "fsdp_config.activation_checkpointing",
                    "fsdp_config.fsdp_activation_checkpointing"});
  const bool recomputes = !key.empty() && !is_off(s.switch_value(key, "--recompute"));
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
  append_accelerate_file(s, read_named);
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
  refuse_conflicting_precisions(s);
  read_trainer_precision(s, f, software);
  read_trainer_optimizer(s, f, software);
  read_adapters(s, f);
  read_fused_layers(s, f);
  read_trainer_batch(s, f, software);
  refuse_conflicting_batches(s, f);
  finish_trainer(s, f, software);
  list_unread_files(s);
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
      s.require_option(*program, "--batch", "its arguments give no batch; give the samples per GPU");
}

bool is_trainer(const LaunchSettings& s) {
  return has_any_key(s, {"per_device_train_batch_size", "per_gpu_train_batch_size"}) &&
         !has_any_key(s, {"finetuning_type", "base_model", "model_class"}) && !is_swift(s);
}

}  // namespace

void read_trainer_arguments(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named,
                            std::int64_t default_batch) {
  read_trainer(s, f, catalogue, read_named, {default_batch});
}

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
