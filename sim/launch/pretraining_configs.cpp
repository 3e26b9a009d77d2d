// NeMo, Megatron-Bridge and Primus use Megatron-Core's keys in their own sections.
#include "sim/launch/pretraining_configs.hpp"

#include "engine/base/text.hpp"
#include "sim/launch/lora_target.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/nemo.hpp"

namespace lockstep::sim::launch {
namespace {

// Gives the model by the name of Primus' model file: "llama3_8B.yaml".
void give_primus_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  auto name = s.text("primus.model", "--model");
  if (!name || f.has("--model")) return;
  const std::string ending = ".yaml";
  const std::size_t at = name->rfind(ending);
  if (at != std::string::npos) name = name->substr(0, at);
  // Primus' models for torchtitan with "-fp8" have a converter, "quantize.linear.float8".
  const std::string fp8 = "-fp8";
  const bool is_fp8 = name->size() > fp8.size() && name->compare(name->size() - fp8.size(), fp8.size(), fp8) == 0;
  if (is_fp8) name->resize(name->size() - fp8.size());
  if (is_fp8 && !f.has("--precision")) f.give_from("--precision", "fp8", s, "primus.model");
  if (*name == "deepseek_v3_16b") name = "deepseek_v2_lite";  // torchtitan's flavors have these shapes
  if (*name == "deepseek_v3_236b") name = "deepseek_v2";
  s.replace("primus.model", *name);
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
    for (const char* key : {"dataset.seq_length", "dataset.sequence_length", "model.seq_length"})
      if (!s.has("seq_length")) s.rename(key, "seq_length");
    f.sequence = s.whole("seq_length", "--model").value_or(0);
    give_primus_model(s, f, catalogue);
    return read_bridge(s, f, catalogue, read_named);
  }
  if (framework != "megatron")
    fail_at(s.at("primus.framework"), "is not read", "give megatron, megatron_bridge, torchtitan or maxtext");
  f.give_default("--software", "Primus", "its configuration");
  // Defaults of Primus' base files (primus/configs/modules/megatron/trainer_base.yaml).
  const bool has_narrow = s.text("fp8", "--precision").value_or("false") != "false" ||
                          s.text("fp4", "--precision").value_or("false") != "false";
  if (!s.has("bf16") && !s.has("fp16") && !has_narrow) f.give_default("--precision", "bf16", "Primus' default");
  if (!s.has("use_distributed_optimizer") && !s.is_on("use_torch_fsdp2") && !s.is_on("use_megatron_fsdp"))
    f.give_default("--sharding", "zero1", "Primus' default");
  if (!s.has("sequence_parallel")) f.give_default("--sequence-parallel", "", "Primus' default");
  if (s.is_on("lora.enabled", "--lora-rank")) {
    for (const char* rank : {"lora.rank", "lora.dim"})
      if (!f.has("--lora-rank")) f.give_whole("--lora-rank", s, rank);
    f.give_default("--lora-rank", "32", "the default of Megatron-Bridge's LoRA");
    read_lora_target(s, f, "all", "the default of Megatron-Bridge's LoRA");
  }
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
       "exp_manager.* _partial_ log.* resume.* num_*_samples trainer.callbacks* tokenizer.* data.* optim.* run.* "
       "nsys_profile.* megatron_amp_* native_amp* hydra.* "
       "checkpoint.* logger.* rng.* scheduler.* profiling.* straggler.* nvrx_straggler.* rerun_state_machine.* "
       "validation.* inprocess_restart.* ft.* tensor_inspect.* _target_ *._target_ *._call_ *._args_ *._name_ "
       "dataset.* "
       "sft_* stage lora.* mock_dataset.* mock flavor skip_save path use_hf_vision_model model_type add_lm_head "
       "source.* enable_in_batch_packing "
       "packed_sequence_specs.* "
       "work_group user_name exp_name workspace platform.* primus.config *sink_level file_sink_level "
       "disable_wandb disable_tensorboard disable_mlflow mlflow_* auto_continue_train disable_last_saving "
       "use_rocm_mem_info* stderr_sink_level stdout_sink_level primus.* trainable includes modules.* bases "
       "random_seed blend* *_path reset_* eod_* path_to_cache drop_last skip_getting_attention_mask* "
       "precision_aware* barrier_with_* pytorch_profiler* hf_model_id generation_config* should_pad_vocab account_*"},
      {Use::no_effect, "names of the run, its folders and functions",
       "argument y yes factory.dir factory.name factory.fn factory.log* factory.resume* factory.data*"},
      {Use::not_simulated, "the recipe's default is predicted",
       "factory.performance_mode factory.pipeline_parallelism_type factory.gradient_clip_val factory.precision"},
      {Use::not_simulated, "every batch is predicted as full", "factory.packed_sequence"},
      {Use::no_effect, "learning rate and evaluation, which the rate leaves out",
       "factory.*lr factory.warmup_steps factory.constant_steps factory.limit_* factory.val_* "
       "factory.log_every_n_steps"},
      {Use::not_simulated, "adapters are predicted as two matrices of one rank", "peft.* peft_* lora_* target_modules"},
      {Use::no_effect, "another key decides", "fp32 ft"},
      {Use::not_simulated, "every batch is predicted as equal and full", "packed_sequence lb_mini* odc_*"},
      {Use::not_simulated, "recomputed as the other keys say", "recompute_layer_ids"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "comm_overlap_config torch_compile.* optimizer_foreach torch_fsdp2_*"},
      {Use::no_effect, "data, logs and numbers on which no kernel's time depends",
       "mmap_bin_files empty_cache_interval prefetch_factor wall_clock_* max_samples_per_sequence target_val_loss"},
      {Use::no_effect, "configurations that this one is composed of", "defaults defaults.* extends"},
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
      {LaunchFormat::nemo, "NeMo's configuration", is_nemo, read_nemo, megatron},
      {LaunchFormat::megatron_bridge, "Megatron-Bridge's configuration",
       [](const LaunchSettings& s) {
         // LitGPT's configuration has the same keys.
         return has_any_key(s, {"train.micro_batch_size", "train.global_batch_size"}) &&
                !has_any_key(s, {"out_dir", "train.max_tokens", "train.epochs", "checkpoint_dir", "model_name"});
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
