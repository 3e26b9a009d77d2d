// ms-swift: "swift sft" and "swift pt" have the Trainer's arguments, "megatron sft" and "megatron pt" Megatron-LM's, both
// with defaults of their own (docs/source_en/Instruction/Command-line-parameters.md and docs/source_en/Megatron-SWIFT).
#include "sim/launch/swift.hpp"

#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/job/given_split.hpp"
#include "sim/launch/deepspeed.hpp"
#include "sim/launch/huggingface.hpp"
#include "sim/launch/lora_target.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

const std::vector<std::string> kKindKeys{"train_type", "tuner_type", "sft_type"};

std::string given_kind_key(const LaunchSettings& s) {
  for (const std::string& key : kKindKeys)
    if (s.has(key)) return key;
  return "";
}

bool is_of_megatron(const LaunchSettings& s) {
  for (const LaunchSetting& setting : s.all())
    if (setting.key == "program")
      return last_part_of(plain_text(setting.value)) == "megatron" ||
             plain_text(setting.value).find("_megatron") != std::string::npos;
  return has_any_key(s, {"tensor_model_parallel_size", "global_batch_size", "recompute_granularity"});
}

void refuse_other_tasks(LaunchSettings& s) {
  for (const LaunchSetting& setting : s.all())
    if (setting.key == "argument")
      for (const char* other : {"rlhf", "rollout", "infer", "export", "eval", "sample", "deploy"})
        if (setting.value == Json(other))
          fail_at(setting, "is no supervised training, and cannot be predicted", "give pt or sft");
  for (const char* key : {"rlhf_type", "reward_funcs"})
    if (const LaunchSetting* setting = s.take(key))
      fail_at(*setting, "reinforcement learning and preference tuning cannot be predicted", "give pt or sft");
  const std::string task = s.text("task_type", "--model").value_or("causal_lm");
  if (task != "causal_lm") s.mark("task_type", Use::not_simulated, "predicted as a language model");
}

// Gives a key its default.
void add_default(LaunchSettings& s, const std::string& key, Json value) {
  if (s.has(key) || s.all().empty()) return;
  LaunchSetting setting;
  setting.key = setting.written = key;
  setting.value = std::move(value);
  setting.place = s.all().front().place;
  s.add(std::move(setting));
}

// Weights are loaded in the type of the checkpoint, bf16 if none is given. DeepSpeed keeps fp32 master weights, and
// adapters are fp32.
void give_swift_precision(LaunchSettings& s, Facts& f, bool is_full) {
  const bool is_given = has_any_key(s, {"bf16", "fp16"});
  const std::string type = lower_case(s.text("torch_dtype", "--precision").value_or("bfloat16"));
  if (is_given) return;
  const bool is_pure = is_full && !s.has("deepspeed");
  const bool is_half = type == "float32" || type == "float16";  // both train in mixed precision with fp16
  const char* const precision = is_half ? "fp16" : is_pure ? "bf16-true" : "bf16";
  if (s.has("torch_dtype"))
    f.give_from("--precision", precision, s, "torch_dtype");
  else
    f.give_default("--precision", precision, "ms-swift: the checkpoint's type, bf16");
}

// "zero3_offload" names a configuration of ms-swift; other values are files.
void give_swift_sharding(LaunchSettings& s, Facts& f) {
  const std::string name = lower_case(s.text("deepspeed", "--sharding").value_or(""));
  const std::size_t at = name.find("zero");
  if (name.find('.') != std::string::npos || at == std::string::npos || at + 4 >= name.size() || name[at + 4] > '3')
    return;
  const std::string stage(1, name[at + 4]);
  f.give_from("--software", "Transformers with DeepSpeed", s, "deepspeed");
  f.give_from("--sharding", stage == "0" ? "none" : "zero" + stage, s, "deepspeed");
  if (name.find("offload") != std::string::npos) f.give_from("--offload-optimizer", "", s, "deepspeed");
}

// Without gradient_accumulation_steps, as many as make 16 samples or more (ms-swift's default).
void give_swift_accumulation(LaunchSettings& s, Facts& f, std::int64_t micro_batch) {
  constexpr std::int64_t kSamples = 16;
  if (s.has("gradient_accumulation_steps")) return;
  const std::int64_t gpus = f.given_gpus > 0 ? f.given_gpus : f.gpus().value_or(0);
  const std::int64_t ranks = std::max<std::int64_t>(1, s.whole("sequence_parallel_size", "--context").value_or(1));
  if (gpus < ranks || micro_batch < 1) return;
  const std::int64_t samples = micro_batch * gpus;  // it counts each GPU, also those that share a sample
  add_default(s, "gradient_accumulation_steps", std::max<std::int64_t>(1, (kSamples + samples - 1) / samples));
  f.notes.push_back("gradient_accumulation_steps is not given: ms-swift makes 16 samples per step or more");
}

void read_swift_trainer(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  s.rename("model_name", "label in the data");  // of the data set swift/self-cognition
  s.rename("attn_impl", "attn_implementation");
  for (const char* key : {"model", "model_id_or_path"}) s.rename(key, "model_name_or_path");
  s.rename("batch_size", "per_device_train_batch_size");
  s.rename("quant_bits", "quantization_bit");
  const std::string kind = given_kind_key(s);
  if (!kind.empty()) s.rename(kind, "finetuning_type");
  add_default(s, "finetuning_type", "lora");
  add_default(s, "gradient_checkpointing", true);
  add_default(s, "stage", s.has_argument("pt") ? "pt" : "sft");
  const bool is_full = lower_case(s.text("finetuning_type", "--task").value_or("")) == "full";
  give_swift_precision(s, f, is_full);
  give_swift_sharding(s, f);
  if (s.whole("deepspeed_autotp_size", "--tensor").value_or(1) > 1)
    f.give_whole("--tensor", s, "deepspeed_autotp_size");
  give_swift_accumulation(s, f, s.whole("per_device_train_batch_size", "--micro-batch").value_or(1));
  read_trainer_arguments(s, f, catalogue, read_named, 1);
}

void read_swift_megatron(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  f.give_default("--software", "Megatron-LM", "megatron sft runs Megatron-Core");
  s.rename("model_name", "label in the data");
  s.rename("max_length", "seq_length");
  f.sequence = s.whole("seq_length", "--model").value_or(0);
  for (const char* key : {"model", "load"})
    if (s.has(key)) {
      std::string name = s.text(key, "--model").value_or("");
      const std::string ending = "-mcore";  // weights that ms-swift converted
      if (ends_with(name, ending)) s.replace(key, name.substr(0, name.size() - ending.size()));
      give_named_model(s, f, key, catalogue);
    }
  const std::string kind = given_kind_key(s);
  const std::string type = kind.empty() ? "full" : lower_case(s.text(kind, "--task").value_or("full"));
  if (type != "full" && type != "lora") fail_at(s.at(kind), "cannot be predicted", "give full or lora");
  if (type == "lora" && s.has("lora_rank")) f.give_whole("--lora-rank", s, "lora_rank");
  if (type == "lora") f.give_default("--lora-rank", "8", "ms-swift's default");
  if (type == "lora") read_lora_target(s, f, "all", "ms-swift's default");
  if (type == "full" && !s.has_argument("pt")) f.give_default("--task", kAllWeights, "trained weights are loaded");
  add_default(s, "use_distributed_optimizer", true);
  add_default(s, "recompute_granularity", "selective");
  add_default(s, "micro_batch_size", 1);
  add_default(s, "global_batch_size", 16);
  const std::string weights = lower_case(s.text("torch_dtype", "--precision").value_or(""));
  const bool is_half = weights == "float16" || weights == "float32";
  if (!has_any_key(s, {"bf16", "fp16"})) add_default(s, is_half ? "fp16" : "bf16", true);
  read_megatron(s, f, catalogue, MegatronKeys::arguments);
  if (!f.has("--sharding")) f.give_default("--sharding", "none", "no distributed optimizer");
  if (!f.has("--recompute")) f.give_default("--recompute", "none", "no recomputation is given");
}

// Packed samples have packing_length tokens.
void check_packing(LaunchSettings& s) {
  const auto packed = s.whole("packing_length", "--seq-length"), length = s.whole("max_length", "--seq-length");
  if (s.is_on("packing") && packed && length && *packed != *length)
    s.require_option(s.at("packing_length"), "--seq-length", "the packed samples are not as long as max_length");
}

void read_swift(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  refuse_other_tasks(s);
  check_packing(s);
  is_of_megatron(s) ? read_swift_megatron(s, f, catalogue) : read_swift_trainer(s, f, catalogue, read_named);
}

const std::vector<UnreadKeys>& swift_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "data, templates and generation",
       "label*in*the*data model_author val_dataset split_dataset_ratio load_from_cache_file cached_dataset system "
       "template* truncation_strategy max_pixels agent_template norm_bbox use_chat_template padding_side loss_scale "
       "lazy_tokenize temperature top_k top_p repetition_penalty new_special_tokens interleave_prob stopping_strategy "
       "download_mode custom_* external_plugins use_hf hub_token train_dataset_sample dtype model_kwargs columns "
       "strict "
       "torch_dtype model_revision task_type num_labels problem_type attn_implementation train_dataloader_shuffle "
       "model_type "
       "local_repo_path init_strategy max_model_len streaming shuffle_buffer_size vit_lr aligner_lr freeze_llm "
       "freeze_vit "
       "freeze_aligner vit_gradient_checkpointing num_workers"},
      {Use::no_effect, "logs and checkpoints, which the rate leaves out",
       "add_version save_only_model resume_only_model create_checkpoint_symlink acc_strategy max_epochs save* load* "
       "no_save_* no_load_* finetune predict_with_generate tensorboard_* wandb_*"},
      {Use::no_effect, "another key decides",
       "finetuning_type stage deepspeed_autotp_size train_type tuner_type sft_type"},
      {Use::not_simulated, "every batch is predicted as full", "packing_length packing padding_free mlp_padding_free"},
      {Use::not_simulated, "adapters are predicted as two matrices of one rank",
       "target_modules target_regex target_parameters modules_to_save init_weights lora_bias lora_dtype tuner_backend "
       "quant_method bnb_4bit_* hqq_axis adapters lora_* lorap_*"},
      {Use::not_simulated, "all weights are predicted as trained",
       "freeze_parameters* trainable_parameters* lisa_* llamapro_*"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "zero_hpz_partition_size device_map max_memory use_ray attention_backend cross_entropy_* enable_channel_loss "
       "enable_dft_loss router_aux_loss_coef use_flash_attn use_logits_to_keep ddp_find_unused_parameters"},
  };
  return all;
}

}  // namespace

bool is_swift(const LaunchSettings& s) {
  return !given_kind_key(s).empty() && has_any_key(s, {"model", "model_id_or_path", "load"}) &&
         !has_any_key(s, {"model_name_or_path", "base_model"});
}

LaunchReader swift_reader() {
  return {
      LaunchFormat::ms_swift, "ms-swift's arguments", is_swift, read_swift,
      both_tables(swift_unread(), both_tables(trainer_unread(), both_tables(deepspeed_unread(), megatron_unread())))};
}

}  // namespace lockstep::sim::launch
