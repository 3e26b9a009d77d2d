#include "sim/launch/huggingface.hpp"

#include "engine/base/text.hpp"
#include "sim/launch/deepspeed.hpp"
#include "sim/launch/named_config.hpp"

namespace lockstep::sim::launch {
namespace {

// The names that one thing has in Trainer, LLaMA-Factory, axolotl and scripts around them.
const std::vector<std::string> kLengthKeys{"cutoff_len", "sequence_len",     "max_seq_length",
                                           "max_length", "model_max_length", "block_size"};
const std::vector<std::string> kModelKeys{"model_name_or_path", "base_model", "model_name", "config_name"};

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

// true, "bf16", or "auto", which means bf16 where the GPU has it.
bool is_on_or_auto(LaunchSettings& s, const std::string& key) {
  const std::string text = lower_case(s.text(key, "--precision").value_or(s.has(key) ? "true" : "false"));
  return text == "true" || text == "auto" || text == "1" || text == "yes";
}

void read_trainer_precision(LaunchSettings& s, Facts& f) {
  if (f.has("--precision")) return;
  const std::string mixed = lower_case(s.text("mixed_precision", "--precision").value_or(""));
  const std::string launched = lower_case(s.text("accelerate.mixed_precision", "--precision").value_or(mixed));
  const std::string key = s.has("accelerate.mixed_precision") ? "accelerate.mixed_precision" : "mixed_precision";
  const bool is_pure = s.is_on("pure_bf16", "--precision");
  if (is_pure) return f.give_from("--precision", "bf16-true", s, "pure_bf16");
  for (const char* name : {"bf16", "fp16"})
    if (s.has(name) && is_on_or_auto(s, name)) return f.give_from("--precision", name, s, name);
  if (launched == "bf16" || launched == "fp16" || launched == "fp8")
    return f.give_from("--precision", launched, s, key);
  f.give_default("--precision", s.is_on("tf32", "--precision") ? "tf32" : "fp32", "no half precision is given");
}

void read_fsdp(LaunchSettings& s, Facts& f) {
  std::string key = "fsdp";
  std::string words = lower_case(s.text("fsdp", "--sharding").value_or(""));
  if (words == "[]" || words == "false") words.clear();
  for (const char* other :
       {"fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy", "accelerate.fsdp_sharding_strategy",
        "accelerate_config.fsdp_config.fsdp_sharding_strategy"})
    if (const auto strategy = s.text(other, "--sharding")) {
      words += " " + lower_case(*strategy);
      key = other;
    }
  const bool reshards = s.boolean("fsdp_config.fsdp_reshard_after_forward", "--sharding").value_or(true);
  if (words.empty()) {
    // FSDP2 has no strategies: it shards all, and frees weights after the forward pass or not.
    for (const char* other : {"fsdp_config.fsdp_version", "accelerate.use_fsdp", "fsdp_version"})
      if (s.has(other)) f.give_from("--sharding", reshards ? "zero3" : "zero2", s, other);
    return;
  }
  const bool is_hybrid = words.find("hybrid") != std::string::npos || words.find("_zero2") != std::string::npos;
  const bool keeps_weights = words.find("shard_grad_op") != std::string::npos ||
                             words.find("hybrid_shard_zero2") != std::string::npos || words == "2" || words == " 2";
  if (words.find("no_shard") != std::string::npos) return f.give_from("--sharding", "none", s, key);
  f.give_from("--sharding", keeps_weights || !reshards ? "zero2" : "zero3", s, key);
  f.shards_in_nodes = is_hybrid;
  if (words.find("offload") != std::string::npos || s.is_on("fsdp_config.fsdp_offload_params"))
    f.give_from("--offload-optimizer", "", s, key);
}

void read_trainer_optimizer(LaunchSettings& s, Facts& f) {
  const std::string key = given_key(s, {"optim", "optimizer"});
  const std::string name = key.empty() ? "adamw_torch" : lower_case(s.text(key, "--optimizer").value_or("adamw_torch"));
  if (name.find("8bit") != std::string::npos || name.find("4bit") != std::string::npos)
    return s.mark(key, Use::not_simulated, "the optimizer's state is predicted in single precision");
  if (name.find("adam") != std::string::npos && !f.has("--optimizer"))
    return key.empty() ? f.give_default("--optimizer", "adam", "the Trainer's default")
                       : f.give_from("--optimizer", "adam", s, key);
  if (name == "sgd") return f.give_from("--optimizer", "momentum", s, key);
  if (!key.empty() && name.find("adam") == std::string::npos)
    s.mark(key, Use::not_simulated, "the software's default is predicted");
}

void read_adapters(LaunchSettings& s, Facts& f) {
  const std::string type = lower_case(s.text("finetuning_type").value_or(s.text("adapter").value_or("")));
  const bool uses_peft = s.is_on("use_peft") || s.is_on("use_peft_lora");
  if (!type.empty() && type != "full" && type != "lora" && type != "qlora")
    fail_at(*s.take(s.has("finetuning_type") ? "finetuning_type" : "adapter"), "cannot be predicted",
            "give full or lora");
  if (type != "lora" && type != "qlora" && !uses_peft) return;
  const std::string key = given_key(s, {"lora_rank", "lora_r"});
  if (key.empty())
    f.give_default("--lora-rank", "8", "the default of PEFT");
  else
    f.give_from("--lora-rank", std::to_string(s.whole(key, "--lora-rank").value_or(8)), s, key);
  for (const char* bits : {"load_in_4bit", "load_in_8bit", "quantization_bit", "use_4bit_quantization"})
    if (s.has(bits) && s.text(bits).value_or("false") != "false")
      s.mark(bits, Use::not_simulated, "the frozen weights are predicted in half precision");
}

void refuse_other_stages(LaunchSettings& s) {
  const std::string stage = lower_case(s.text("stage").value_or(""));
  if (!stage.empty() && stage != "sft" && stage != "pt")
    fail_at(*s.take("stage"), "cannot be predicted: only pre-training and supervised fine-tuning are",
            "give pt or sft");
  const std::string other = lower_case(s.text("rl").value_or(""));
  if (!other.empty()) fail_at(*s.take("rl"), "cannot be predicted", "leave it out");
}

void read_trainer_batch(LaunchSettings& s, Facts& f, std::int64_t default_batch) {
  const std::string key = given_key(s, {"per_device_train_batch_size", "micro_batch_size", "per_gpu_train_batch_size"});
  if (!key.empty()) f.micro_batch = s.whole(key, "--micro-batch");
  if (!f.micro_batch) f.micro_batch = default_batch;
  if (const auto steps = s.whole("gradient_accumulation_steps", "--accumulation")) f.accumulation = *steps;
  if (!f.accumulation && s.has("accelerate.gradient_accumulation_steps"))
    f.accumulation = s.whole("accelerate.gradient_accumulation_steps", "--accumulation");
  if (!f.global_batch && !f.accumulation) f.accumulation = 1;
}

void finish_trainer(LaunchSettings& s, Facts& f) {
  if (!f.has("--sharding")) f.give_default("--sharding", "none", "no sharding is given");
  const std::string key =
      given_key(s, {"gradient_checkpointing", "activation_checkpointing", "fsdp_config.activation_checkpointing",
                    "fsdp_config.fsdp_activation_checkpointing"});
  const bool recomputes = !key.empty() && lower_case(s.text(key, "--recompute").value_or("true")) != "false";
  const bool is_factory = s.has("finetuning_type");
  if (recomputes)
    f.give_from("--recompute", "full", s, key);
  else if (is_factory && key.empty() && !s.is_on("disable_gradient_checkpointing", "--recompute"))
    f.give_default("--recompute", "full", "LLaMA-Factory's default");
  else
    f.give_default("--recompute", "none", "no recomputation is given");
}

// "ds_z3.json", "zero3", or the keys themselves below "deepspeed".
void read_deepspeed_of_trainer(LaunchSettings& s, Facts& f, const ReadNamedFile& read_named) {
  for (const char* key : {"deepspeed", "accelerate.deepspeed_config_file", "deepspeed_config.deepspeed_config_file",
                          "deepspeed_config_file"})
    if (s.text(key)) append_named_file(s, key, "", read_named);
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
  if (has_any_key(s, {"zero_optimization.stage", "deepspeed_config.zero_stage", "accelerate.zero_stage"}))
    f.give_default("--software", "DeepSpeed", "its configuration");
  read_deepspeed(s, f);
}

void read_machine_of_accelerate(LaunchSettings& s, Facts& f) {
  const LaunchSetting* nodes = s.take("num_machines", "--gpus");
  if (nodes != nullptr) f.give_nodes(s.whole("num_machines").value_or(1), nodes->place, nodes->written);
  const LaunchSetting* processes = s.take("num_processes", "--gpus");
  if (processes != nullptr) f.give_gpus(s.whole("num_processes").value_or(1), processes->place, processes->written);
  s.text("distributed_type");
  s.text("use_fsdp");
}

void read_trainer(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named,
                  std::int64_t default_batch) {
  for (const char* key : {"accelerate.config_file", "accelerate_config"})
    if (s.text(key)) append_named_file(s, key, "", read_named);
  refuse_other_stages(s);
  read_machine_of_accelerate(s, f);
  read_trainer_length(s, f);
  read_model_name(s, f, catalogue);
  read_deepspeed_of_trainer(s, f, read_named);
  read_fsdp(s, f);
  if (!f.has("--software")) {
    const bool is_compiled = s.is_on("torch_compile");
    const bool is_sharded = f.has("--sharding");
    f.give_default(
        "--software",
        is_sharded ? (is_compiled ? "PyTorch FSDP torch.compile" : "PyTorch FSDP") : "HuggingFace Transformers",
        "the Trainer");
  }
  read_trainer_precision(s, f);
  read_trainer_optimizer(s, f);
  read_adapters(s, f);
  read_trainer_batch(s, f, default_batch);
  finish_trainer(s, f);
}

void read_accelerate_file(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  const bool has_batch = has_any_key(s, {"per_device_train_batch_size"});
  read_trainer(s, f, catalogue, read_named, 1);
  if (!has_batch)
    f.notes.push_back("Accelerate's configuration gives no batch: one sample of a GPU is assumed (--micro-batch)");
}

const std::vector<UnreadKeys>& trainer_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "numbers on which no kernel's time depends",
       "learning_rate lr_* warmup_* weight_decay adam_* adafactor max_grad_norm label_smoothing_factor neftune_* "
       "gradient_clipping optim_args lr cosine_* loraplus_* lora_alpha lora_dropout use_rslora use_dora pissa_* "
       "additional_target lr_scheduler* min_lr optim_target_modules embedding_lr* loraplus_lr* scheduler* val_set_size "
       "noisy_embedding_alpha early_stopping* loss_watchdog_* *seed full_determinism"},
      {Use::no_effect, "another key decides",
       "bf16 fp16 lora_r lora_rank use_peft adapter mixed_precision accelerate.mixed_precision"},
      {Use::no_effect, "data, templates and tokenizers",
       "dataset* pretraining_dataset* data_* data* train_file validation_file template tokenizer* overwrite_cache "
       "preprocessing_* "
       "max_samples "
       "eval_dataset mix_strategy streaming buffer_size num_proc train_on_* group_by_length length_column_name "
       "remove_unused_columns dataloader_* chat_template* special_tokens* tokens.* trust_remote_code "
       "use_fast_tokenizer "
       "eval_packing response_template test_datasets* shuffle* label_names past_index cache_dir hf_* model_revision "
       "revision revision_of_model token use_auth_token low_cpu_mem_usage is_*_derived_model model_type type_of_model "
       "resize_token_embeddings* processor_type type roles_to_train strict tokenizer_type columns *_column "
       "do_train do_eval do_predict stage formatting max_train_samples max_eval_samples ref_model* text_column"},
      {Use::no_effect, "logs, checkpoints and evaluation, which the rate leaves out",
       "output_dir overwrite_output_dir logging_* log_* save_* report_to run_name plot_loss eval_* evals_per_epoch "
       "saves_per_epoch evaluation_strategy per_device_eval_batch_size per_gpu_eval_batch_size resume_* "
       "load_best_model_at_end metric_for_best_model "
       "greater_is_better hub_* push_to_hub* wandb* mlflow* comet* use_wandb include_* disable_tqdm "
       "prediction_loss_only "
       "project trackio* auto_resume_from_checkpoints hf_use_auth_token val_size compute_accuracy debug lisa_* "
       "do_bench_eval ignore_data_skip restore_callback_states_from_checkpoint skip_memory_metrics no_cuda use_cpu "
       "use_swanlab swanlab_* include_num_input_tokens_seen"},
      {Use::no_effect, "how processes start, and which implementation of the same model runs",
       "local_rank ddp_backend ddp_timeout compute_environment machine_rank main_process_ip main_process_port "
       "main_training_function rdzv_backend same_network use_cpu gpu_ids downcast_bf16 tpu_* enable_cpu_affinity "
       "fsdp_config.fsdp_state_dict_type fsdp_config.state_dict_type fsdp_config.*cpu_ram_efficient_loading "
       "fsdp_config.*sync_module_states "
       "deepspeed_config.zero3_save_16bit_model deepspeed_config.zero3_init_flag "
       "deepspeed_config.deepspeed_multinode_launcher "
       "deepspeed_config.deepspeed_hostfile deepspeed.* fsdp_final_state_dict_type accelerate.zero3_* "
       "accelerate.multi_gpu "
       "accelerate.m accelerate.module accelerate.main_process_* accelerate.use_deepspeed "
       "accelerate.fsdp_state_dict_type accelerate.fsdp_cpu* accelerate.fsdp_sync* accelerate.gpu_ids "
       "accelerate.num_cpu* fsdp_config.fsdp_transformer_layer_cls_to_wrap fsdp_config.transformer_layer_cls_to_wrap "
       "fsdp_config.fsdp_auto_wrap_policy fsdp_config.auto_wrap_policy fsdp_transformer_layer_cls_to_wrap "
       "fsdp_config.final_state_dict_type accelerate.fsdp_transformer* accelerate.fsdp_auto* argument "
       "push_to_hub_token strict_mode"},
      {Use::not_simulated, "the length of the training in tokens is not known; give --tokens",
       "num_train_epochs num_epochs epochs"},
      {Use::not_simulated, "every batch is predicted as full",
       "packing neat_packing sample_packing pad_to_sequence_len eval_sample_packing multipack* pad_to_multiple_of "
       "batch_flattening auto_find_batch_size curriculum* sample_packing_* flat_packing packing_strategy padding_free"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "flash_attn flash_attention flash_attn_* attn_implementation xformers_attention sdp_attention use_liger_kernel "
       "enable_liger_kernel "
       "liger_* plugins use_unsloth* gradient_checkpointing_kwargs* ddp_* torch_compile* torchdynamo jit_mode_eval "
       "use_ipex tf32 "
       "fsdp_config.* fsdp_* accelerate.* dynamo_* cut_cross_entropy* fused_* torch_empty_cache_steps use_reentrant* "
       "unsloth_* lora_mlp_kernel lora_qkv_kernel lora_o_kernel half_precision_backend bf16_full_eval fp16_full_eval "
       "deepspeed_config.* torch_dtype dtype upcast_* use_cache fp16_opt_level float32 rope_scaling rope_theta "
       "mixture_of_depths shift_attn fp8_* enable_fp8* use_mps_device accelerator_config*"},
      {Use::not_simulated, "adapters are predicted on the attention's matrices",
       "lora_target* lora_modules* peft_* lora_fan* lora_on_cpu peft.* create_new_adapter adapter_name_or_path "
       "lora_model_dir freeze_* unfrozen_parameters bnb_* double_quantization quantization_* merge_lora gptq* "
       "load_in_* use_nested_quant use_4bit_quantization"},
  };
  return all;
}

bool is_trainer(const LaunchSettings& s) {
  return has_any_key(s, {"per_device_train_batch_size", "per_gpu_train_batch_size"}) &&
         !has_any_key(s, {"finetuning_type", "base_model"});
}

}  // namespace

std::vector<LaunchReader> huggingface_readers() {
  const std::vector<UnreadKeys> unread = both_tables(trainer_unread(), deepspeed_unread());
  const auto with_batch = [](std::int64_t batch) {
    return [batch](LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
      read_trainer(s, f, catalogue, read_named, batch);
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
       [](const LaunchSettings& s) { return s.has("finetuning_type"); }, with_batch(kTrainerBatch), unread},
      {LaunchFormat::axolotl, "axolotl's configuration", [](const LaunchSettings& s) { return s.has("base_model"); },
       with_batch(1), unread},
  };
}

}  // namespace lockstep::sim::launch
