// Keys of HuggingFace's Trainer, Accelerate, LLaMA-Factory and axolotl that are not read, grouped by reason.
#include "sim/launch/huggingface.hpp"

namespace lockstep::sim::launch {

const std::vector<UnreadKeys>& trainer_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "numbers on which no kernel's time depends",
       "learning_rate lr_* warmup_* weight_decay adam_* adafactor max_grad_norm label_smoothing_factor neftune_* "
       "gradient_clipping optim_args lr cosine_* loraplus_* lora_alpha lora_dropout use_rslora use_dora pissa_* "
       "additional_target lr_scheduler* min_lr optim_target_modules embedding_lr* loraplus_lr* scheduler* val_set_size "
       "noisy_embedding_alpha early_stopping* loss_watchdog_* *seed full_determinism random_ltd num_warmup_steps "
       "num_cycles "
       "token_based_lr_decay decay_style relora* jagged_restart* beta loss_type reinit_weights use_eaft eaft_* "
       "optim_config.* peft_config.lora_alpha peft_config.lora_dropout average_tokens_across_devices asft_* use_asft* "
       "use_dft_loss pref_* rope_theta"},
      {Use::no_effect, "another key decides",
       "bf16 fp16 bfloat16 float16 lora_r lora_rank use_peft adapter mixed_precision accelerate.mixed_precision"},
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
       "image_max_pixels video_* image_min_pixels lazy_preprocess assistant_only_loss completion_only_loss eos_token "
       "eot_tokens pad_token tokens skip_prepare_dataset push_dataset_to_hub max_packed_sequence_len min_sample_len "
       "sample_backend max_new_tokens train_dataset mm_plugin* freeze_vision_tower freeze_multi_modal_projector "
       "dataset_* media_dir crop_train_on* cls_model_config num_labels streaming_* pretrain_multipack* packed_dataset "
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
       "push_to_hub_token strict_mode model_class init_config.* dist_config.* command_file commands "
       "ec2_instance_type iam_role_name image_uri profile region sagemaker_* torchdistx_path experimental_skip* "
       "deepspeed_config fsdp_config megatron_lm_config deepspeed zero_stage env.CMD env.LAUNCHER env.*SCRIPT* "
       "env.*_ARGS "
       "program debug_mode"},
      {Use::not_simulated, "the length of the training in tokens is not known; give --tokens",
       "num_train_epochs num_epochs epochs"},
      {Use::not_simulated, "every batch is predicted as full",
       "batching_strategy packing neat_packing sample_packing pad_to_sequence_len eval_sample_packing multipack* "
       "pad_to_multiple_of "
       "batch_flattening auto_find_batch_size curriculum* sample_packing_* flat_packing packing_strategy padding_free"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "flash_attn flash_attention flash_attn_* attn_implementation xformers_attention sdp_attention use_liger_kernel "
       "enable_liger_kernel "
       "liger_* plugins use_unsloth* gradient_checkpointing_kwargs* ddp_* torch_compile* torchdynamo jit_mode_eval "
       "use_ipex tf32 "
       "dynamo_* cut_cross_entropy* fused_* torch_empty_cache_steps use_reentrant* "
       "unsloth_* lora_mlp_kernel lora_qkv_kernel lora_o_kernel half_precision_backend bf16_full_eval fp16_full_eval "
       "torch_dtype dtype upcast_* use_cache fp16_opt_level float32 rope_scaling rope_theta "
       "kernel_config.* use_kernels use_v1_kernels use_sonicmoe expert_parallel* cp_* sp_* "
       "tiled_* "
       "activation_offloading bias_activation_fusion apply_rope_fusion moe_grouped_gemm moe_token_dispatcher_type "
       "overlap_param_gather overlap_grad_reduce recompute_* use_kt* kt_* use_badam badam_* use_muon use_galore "
       "galore_* "
       "use_apollo apollo_* use_adam_mini ring_attn_func heads_k_stride dp_shard_size dp_replicate_size "
       "context_parallel_* virtual_pipeline_model_parallel_size bias_*_fusion use_distributed_optimizer offload* "
       "mixture_of_depths shift_attn fp8_* enable_fp8* use_mps_device accelerator_config*"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "fsdp_config.*activation_checkpointing fsdp_config.*backward_prefetch* fsdp_config.*forward_prefetch "
       "fsdp_config.*min_num_params fsdp_config.*offload_params fsdp_config.*reshard_after_forward "
       "fsdp_config.*use_orig_params fsdp_config.*version fsdp_config.*sharding_strategy "
       "fsdp_config.*limit_all_gathers fsdp_config.xla* fsdp_config.mixed_precision_policy "
       "fsdp_config.cpu_offload_pin_memory fsdp_min_num_params fsdp_version fsdp_sharding_strategy "
       "fsdp_backward_prefetch* fsdp_forward_prefetch fsdp_offload_params fsdp_use_orig_params "
       "fsdp_activation_checkpointing fsdp_reshard_after_forward"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "accelerate.fsdp_* accelerate.fp8_* accelerate.megatron_lm_* accelerate.dynamo_* accelerate.deepspeed_* "
       "accelerate.offload_* accelerate.parallelism_config_* accelerate.use_* accelerate.gradient_* accelerate.cpu "
       "accelerate.env accelerate.tpu* accelerate.zero_stage accelerate.config_file "
       "deepspeed_config.offload_*_device deepspeed_config.offload_*_nvme_path deepspeed_config.gradient_* "
       "deepspeed_config.deepspeed_config_file deepspeed_config.deepspeed_*_filter "
       "deepspeed_config.deepspeed_moe_layer_cls_names deepspeed_config.zero_stage "
       "parallelism_config.parallelism_config_*_size parallelism_config.parallelism_config_cp_* "
       "parallelism_config.parallelism_config_sp_*"},
      {Use::not_simulated, "adapters are predicted as two matrices of one rank",
       "lora_target* lora_modules* peft_* lora_fan* lora_on_cpu peft.* create_new_adapter adapter_name_or_path "
       "lora_model_dir freeze_* unfrozen_parameters bnb_* double_quantization quantization_* merge_lora gptq* "
       "load_in_* use_nested_quant use_4bit_quantization quant_config* model_quantization_config* peft_config* "
       "oft_* qat* quantize_moe_experts only_optimize_lora lora_module_name lora_learning_rate use_lora"},
  };
  return all;
}

}  // namespace lockstep::sim::launch
