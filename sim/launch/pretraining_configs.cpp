// NeMo, Megatron-Bridge and Primus use Megatron-Core's keys in their own sections.
#include "sim/launch/pretraining_configs.hpp"

#include "engine/base/text.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/named_config.hpp"

namespace lockstep::sim::launch {
namespace {

void give_megatron_defaults(Facts& f) {
  if (!f.has("--sharding")) f.give_default("--sharding", "none", "no sharding is given");
  if (!f.has("--recompute")) f.give_default("--recompute", "none", "no recomputation is given");
}

void give_count(LaunchSettings& s, Facts& f, const std::string& key,
                void (Facts::*give)(std::int64_t, const Place&, const std::string&)) {
  const auto value = s.whole(key, "--gpus");
  if (!value || *value < 1) return;
  const LaunchSetting* setting = s.take(key);
  (f.*give)(*value, setting->place, setting->written);
}

// Lightning writes "bf16-mixed", 32 or "16".
void give_lightning_precision(LaunchSettings& s, const std::string& key, LaunchSettings& as_megatron) {
  const std::string precision = lower_case(s.text(key, "--precision").value_or(""));
  if (precision.empty()) return;
  LaunchSetting setting = *s.take(key);
  setting.key = precision.find("bf16") == 0                                ? "bf16"
                : precision.find("16") == 0 || precision.find("fp16") == 0 ? "fp16"
                                                                           : "";
  setting.value = true;
  if (!setting.key.empty()) as_megatron.add(setting);
}

// Renames NeMo's keys to Megatron-LM's.
void rename_nemo_keys(LaunchSettings& s) {
  s.rename("activations_checkpoint_granularity", "recompute_granularity");
  s.rename("activations_checkpoint_method", "recompute_method");
  s.rename("activations_checkpoint_num_layers", "recompute_num_layers");
  s.rename("bias", "add_bias_linear");
  s.rename("qkv_bias", "add_qkv_bias");
  s.rename("rotary_percentage", "rotary_percent");
  s.rename("ub_tp_comm_overlap", "tp_comm_overlap");
  s.rename("moe_grouped_gemm_nemo", "moe_grouped_gemm");
}

void read_nemo_names(LaunchSettings& s) {
  const std::string norm = lower_case(s.text("normalization", "--model").value_or(""));
  if (!norm.empty()) s.replace("normalization", norm == "rmsnorm" ? "RMSNorm" : "LayerNorm");
  const std::string activation = lower_case(s.text("activation", "--model").value_or(""));
  if (activation.find("swiglu") != std::string::npos) s.replace_key("activation", "swiglu", true);
  if (activation.find("geglu") != std::string::npos) s.replace_key("activation", "quick_geglu", true);
  if (activation.find("squared") != std::string::npos) s.replace_key("activation", "squared_relu", true);
}

void read_nemo(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.give_default("--software", "NeMo", "its configuration");
  give_count(s, f, "trainer.num_nodes", &Facts::give_nodes);
  give_count(s, f, "trainer.devices", &Facts::give_gpus_per_node);
  give_lightning_precision(s, "trainer.precision", s);
  s.rename("trainer.max_steps", "train_iters");
  const std::string optimizer = lower_case(s.text("model.optim.name").value_or(""));
  if (optimizer.find("distributed") == 0 || optimizer == "mcore_distributed_optim")
    s.replace_key("model.optim.name", "use_distributed_optimizer", true);
  s.strip_prefix("model.");
  rename_nemo_keys(s);
  read_nemo_names(s);
  if (s.is_on("fsdp", "--sharding")) {
    const std::string strategy = lower_case(s.text("fsdp_sharding_strategy", "--sharding").value_or("full"));
    f.give_from("--sharding", strategy == "grad" ? "zero2" : "zero3", s, "fsdp");
    f.shards_in_nodes = strategy == "hybrid";
  }
  read_megatron(s, f, catalogue, MegatronKeys::configuration);
  give_megatron_defaults(f);
}

// Requires the values that a recipe sets, unless the command overrides them.
void require_values_of_recipe(LaunchSettings& s, const Facts& f) {
  // A file of overrides does not name its recipe.
  const bool has_precision = has_any_key(s, {"bf16", "fp16", "fp8", "mixed_precision"});
  const std::string key = s.has("micro_batch_size") ? "micro_batch_size" : "global_batch_size";
  if (!s.has("recipe") && !has_precision && s.has(key))
    s.require_option(*s.take(key), "--precision", "no key gives it");
  if (!s.has("recipe")) return;
  LaunchSetting setting;
  for (const LaunchSetting& one : s.all())
    if (one.key == "recipe") setting = one;
  s.mark("recipe", Use::not_simulated, "values that only the recipe sets are not known");
  const auto require = [&](const std::string& option, bool is_given) {
    if (!is_given) s.require_option(setting, option, "the recipe sets it");
  };
  require("--tensor", has_any_key(s, {"tensor_model_parallel_size"}));
  require("--pipeline", has_any_key(s, {"pipeline_model_parallel_size"}));
  require("--precision", has_any_key(s, {"bf16", "fp16", "fp8"}));
  require("--micro-batch", f.micro_batch || has_any_key(s, {"micro_batch_size"}));
  require("--global-batch", f.global_batch || has_any_key(s, {"global_batch_size"}));
}

void read_bridge(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.give_default("--software", "Megatron-Bridge", "its configuration");
  const std::string mixed = lower_case(s.text("mixed_precision", "--precision").value_or(""));
  if (mixed.find("fp8") != std::string::npos) s.replace_key("mixed_precision", "fp8", "hybrid");
  if (mixed.find("bf16") == 0 && mixed.find("fp8") == std::string::npos) s.replace_key("mixed_precision", "bf16", true);
  if (mixed.find("fp16") == 0) s.replace_key("mixed_precision", "fp16", true);
  s.strip_prefix("mixed_precision.");
  for (const char* section : {"tokenizer.", "dataset.", "optimizer.", "ddp.", "dist.", "train.", "model."})
    s.strip_prefix(section);
  s.rename("sequence_length", "seq_length");
  rename_nemo_keys(s);
  require_values_of_recipe(s, f);
  read_megatron(s, f, catalogue, MegatronKeys::configuration);
  give_megatron_defaults(f);
}

// Gives the model by the name of Primus' model file: "llama3_8B.yaml".
void give_primus_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  auto name = s.text("primus.model", "--model");
  if (!name || f.has("--model")) return;
  const std::string ending = ".yaml";
  const std::size_t at = name->rfind(ending);
  if (at != std::string::npos) s.replace("primus.model", name->substr(0, at));
  give_named_model(s, f, "primus.model", catalogue);
}

void read_primus(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  for (const char* module : {"modules.pre_trainer.", "modules.sft_trainer.", "modules.post_trainer."}) {
    s.strip_prefix(std::string(module) + "overrides.");
    s.replace_prefix(module, "primus.");
  }
  const std::string framework = lower_case(s.text("primus.framework").value_or("megatron"));
  if (framework == "torchtitan") {
    f.sequence = s.whole("training.seq_len", "--model").value_or(0);
    give_primus_model(s, f, catalogue);
    return read_torchtitan(s, f, catalogue, read_named);
  }
  if (framework == "maxtext") {
    f.sequence = s.whole("max_target_length", "--model").value_or(0);
    give_primus_model(s, f, catalogue);
    return read_maxtext(s, f, catalogue, read_named);
  }
  if (framework == "megatron_bridge") {
    give_primus_model(s, f, catalogue);
    return read_bridge(s, f, catalogue, read_named);
  }
  if (framework != "megatron")
    fail_at(*s.take("primus.framework"), "is not read", "give megatron, megatron_bridge, torchtitan or maxtext");
  f.give_default("--software", "Primus", "its configuration");
  // Defaults of Primus' base files (primus/configs/modules/megatron/trainer_base.yaml).
  if (!s.has("bf16") && !s.has("fp16"))
    f.give_default("--precision", s.text("fp8").value_or("false") != "false" ? "fp8" : "bf16", "Primus' default");
  if (!s.has("use_distributed_optimizer") && !s.is_on("use_torch_fsdp2") && !s.is_on("use_megatron_fsdp"))
    f.give_default("--sharding", "zero1", "Primus' default");
  if (!s.has("sequence_parallel")) f.give_default("--sequence-parallel", "", "Primus' default");
  if (s.is_on("lora.enabled", "--lora-rank")) f.give_whole("--lora-rank", s, "lora.rank");
  f.sequence = s.whole("seq_length", "--model").value_or(0);
  give_primus_model(s, f, catalogue);
  read_megatron(s, f, catalogue, MegatronKeys::configuration);
  give_megatron_defaults(f);
}

const std::vector<UnreadKeys>& sections_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "logs, data, checkpoints and restarts, which the rate leaves out",
       "name restore_from_path trainer.logger trainer.enable_checkpointing trainer.*_every_n_steps trainer.max_epochs "
       "trainer.max_time trainer.log_* trainer.val_* trainer.limit_* trainer.gradient_clip_val trainer.benchmark "
       "trainer.num_sanity_val_steps trainer.accelerator trainer.use_distributed_sampler trainer.enable_* "
       "exp_manager.* tokenizer.* data.* optim.* run.* nsys_profile.* megatron_amp_* native_amp* hydra.* "
       "checkpoint.* logger.* rng.* scheduler.* profiling.* straggler.* nvrx_straggler.* rerun_state_machine.* "
       "validation.* inprocess_restart.* ft.* tensor_inspect.* _target_ *._target_ *._call_ *._args_ *._name_ peft.* "
       "dataset.* "
       "sft_* stage lora.* mock_dataset.* mock flavor skip_save path use_hf_vision_model model_type add_lm_head "
       "source.* enable_in_batch_packing "
       "packed_sequence_specs.* "
       "work_group user_name exp_name workspace platform.* primus.config *sink_level file_sink_level "
       "disable_wandb disable_tensorboard disable_mlflow mlflow_* auto_continue_train disable_last_saving "
       "use_rocm_mem_info* stderr_sink_level stdout_sink_level primus.* trainable includes modules.* bases "
       "random_seed blend* *_path reset_* eod_* path_to_cache drop_last skip_getting_attention_mask* "
       "precision_aware* barrier_with_* pytorch_profiler* hf_model_id generation_config* should_pad_vocab account_*"},
      {Use::no_effect, "configurations that this one is composed of", "defaults defaults.*"},
      {Use::no_effect, "inference, evaluation and numbers on which no kernel's time depends",
       "chatbot_config.* inference.* chat port server share username password web_* answer_only_loss test_ds.* "
       "validation_ds.* train_ds.* do_layer_norm_weight_decay bert_binary_head restore_from_* megatron_legacy "
       "override_vocab_size megatron_lm_compatible finetune_lr seq_len_interpolation_factor shape_file delta_model.* "
       "base_model.* dump_debug_info* version normalize_attention_scores apply_embedding_scaling "
       "training.mock_data sharding_tolerance olmo_*"},
      {Use::not_simulated, "parts of a model that --model gives",
       "unet_config.* first_stage_config.* cond_stage_* mm_cfg.* encoder.* decoder.* enc_* dec_* hyena.* linear_start "
       "linear_end v_posterior timesteps num_timesteps_cond beta_schedule original_elbo_weight loss_type "
       "parameterization "
       "ignore_keys given_betas use_positional_encodings image_size first_stage_key scale_* channels* concat_mode "
       "text_embedding_dropout_rate learn_logvar conditioning_key clip_denoised l_simple_weight cosine_s monitor "
       "use_ema "
       "share_* tokens_head_bias chunk_size img_* num_channels num_classes vision_* classes_fraction drop_path_rate "
       "add_position_embedding *_dropout transformer_block_type attention_type use_emha qkv_bias precision_config "
       "freeze* audio_* modality_adapter.* perception.* speech_* pretrained_*"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "grad_allreduce_chunk_size_mb pre_process post_process activations_checkpoint_layers_per_pipeline "
       "num_micro_batches_with_partial_activation_checkpoints fp8_* precision reduce_amax sharp fsdp fsdp_* "
       "async_grad_allreduce inductor* capture_cudagraph_iters activations_checkpoint_recurrent "
       "pipeline_model_parallel_split_rank moe_dispatch_no_expert_sharding* pure_nnx* recipe step_func mode "
       "trainer.* enable_primus_turbo use_turbo_* turbo_* moe_use_fused* enable_turbo* primus_turbo* comm_overlap.* "
       "use_flash_attention megatron_amp_O2 transformer_engine fp8_hybrid ub_* apex_* sync_batch_comm "
       "gc_interval nccl_communicator* patch_* pp_warmup dump_pp_data gradient_as_bucket_view "
       "resume_from_checkpoint headscale optimizer_config_override* *.cuda_graph* grad_div_ar_fusion "
       "gradient_accumulation_fusion bias_*_fusion use_cpu* onnx* mcore_* data_parallel_random_init "
       "fp16.* external_* calculate_* *_func *_init* layernorm_zero_centered_gamma layernorm_epsilon "
       "no_fp8_weight_transpose_cache sink_* use_kitchen hetereogenous_* timers fused* *_dtype disable_*"},
  };
  return all;
}

}  // namespace

std::vector<LaunchReader> pretraining_readers() {
  const std::vector<UnreadKeys> megatron = both_tables(megatron_unread(), sections_unread());
  return {
      {LaunchFormat::torchtitan, "torchtitan's configuration", is_torchtitan, read_torchtitan, torchtitan_unread()},
      {LaunchFormat::nemo, "NeMo's configuration",
       [](const LaunchSettings& s) {
         return s.has("model.micro_batch_size") && has_any_key(s, {"trainer.devices", "trainer.num_nodes"});
       },
       read_nemo, megatron},
      {LaunchFormat::megatron_bridge, "Megatron-Bridge's configuration",
       [](const LaunchSettings& s) {
         return has_any_key(s, {"train.micro_batch_size", "train.global_batch_size"});
       },
       read_bridge, megatron},
      {LaunchFormat::primus, "Primus' configuration",
       [](const LaunchSettings& s) {
         return has_any_key(
             s, {"modules.pre_trainer.framework", "modules.post_trainer.framework", "modules.sft_trainer.framework"});
       },
       read_primus, both_tables(megatron, both_tables(torchtitan_unread(), maxtext_unread()))},
      {LaunchFormat::maxtext, "MaxText's configuration", is_maxtext, read_maxtext, maxtext_unread()},
  };
}

}  // namespace lockstep::sim::launch
