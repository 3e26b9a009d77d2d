// Arguments of Megatron-LM that are not read, grouped by reason. The names are those of megatron/training/arguments.py
// and of the configurations that it turns into arguments (2026-08). Names of older versions and of Megatron-DeepSpeed
// are included.
#include "sim/launch/megatron.hpp"

namespace lockstep::sim::launch {

const std::vector<UnreadKeys>& megatron_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "logs, profiles and checks",
       "log_* timing_log_* tensorboard_* wandb_* no_log_* no_barrier_with_level_1_timing barrier_with_l1_time "
       "logging_level *filter_warnings "
       "modules_to_filter set_level_for_all_loggers save_config_filepath profile profile_* use_pytorch_profiler "
       "pytorch_profiler_* record_* memory_snapshot_path memory_keys nvtx_ranges throughput_window_size "
       "runtime_time_unit otel_* one_logger_* no_one_logger enable_one_logger app_tag_* straggler_* "
       "LAUNCHER METRICS TEST_TYPE MODE AFTER_SCRIPT BEFORE_SCRIPT export_model_type model_provider dataset_provider "
       "disable_straggler_on_startup *check_for_nan_in_loss* check_for_large_grads check_for_spiky_loss "
       "check_weight_hash_across_dp_replicas_interval result_rejected_tracker_filename rerun_mode error_injection_* "
       "config_logger_dir moe_per_layer_logging moe_routing_trace_* gpu_sniff_test_interval "
       "run_workload_inspector_server steps_per_print wall_clock_breakdown flight_recorder_* no_flight_recorder_* "
       "enable_experimental dump_param_to_param_group_map zero_stage_log *_log_interval"},
      {Use::no_effect, "numbers on which no kernel's time depends",
       "lr lr_* min_lr decoupled_lr decoupled_min_lr warmup override_opt* use_checkpoint_opt* weight_decay "
       "weight_decay_* start_weight_decay end_weight_decay wd_incr_steps wsd_decay_steps no_weight_decay_cond_type "
       "apply_wd_to_qk_layernorm clip_grad adam_beta1 adam_beta2 adam_eps sgd_momentum muon_* lion_* "
       "init_method_std init_method_xavier_uniform embedding_init_method_std init_method no_initialization "
       "perform_initialization use_cpu_initialization init_model_with_meta_device loss_scale initial_loss_scale "
       "min_loss_scale loss_scale_window hysteresis moe_aux_loss_coeff moe_z_loss_coeff moe_input_jitter_eps "
       "moe_router_bias_update_rate mtp_loss_scaling_factor use_mup mup_* calculate_per_token_loss softmax_scale "
       "head_lr_mult iterations_to_skip norm_epsilon layernorm_epsilon rotary_base rotary_interleaved "
       "rotary_seq_len_interpolation_factor rotary_scaling_factor rotary_position_embeddings_theta rope_scaling_factor "
       "use_rope_scaling rope_type "
       "yarn_* no_yarn_* mscale mscale_all_dim apply_layernorm_1p apply_query_key_layer_scaling "
       "*attention_softmax_in_fp32 apply_residual_connection_post_layernorm moe_router_topk_scaling_factor "
       "moe_router_pre_softmax moe_router_score_function moe_router_dtype openai_gelu bias_gelu glu_linear_offset "
       "activation_func_clamp_value softmax_type qk_clip* fp32_residual_connection relative_attention_* "
       "no_query_key_layer_scaling moe_router_force_load_balancing moe_router_force_biased"},
      {Use::no_effect, "seeds, data and tokenizers",
       "seed te_rng_tracker inference_rng_tracker data_parallel_random_init data_path data_* *_data_path "
       "*_data_args_path per_dataset_sequences_path dataloader_type dataloader_* no_mmap_bin_files mock_data split "
       "sample_rate mask_prob short_seq_prob num_workers reset_position_ids reset_attention_mask eod_mask_loss "
       "no_create_attention_mask_in_dataloader num_dataset_builder_threads object_storage_cache_path "
       "mid_level_dataset_surplus allow_ambiguous_pad_tokens fim_* tokenizer_* vocab_file merge_file vocab_extra_ids "
       "tiktoken_* null_tokenizer* special_tokens legacy_tokenizer trust_remote_code mmap_warmup dataset_impl "
       "create_attention_mask_in_dataloader "
       "patch_tokenizer_type max_padding_length extra_vocab_size dataset valid_data train_data test_data "
       "*_split_paths* "
       "prompt_path pad_vocab_size_to image_folder dataset_config skip_train_iteration_range loss_on_targets_only "
       "total_seq_length language_model_checkpoint num_frames no_data_sharding task query_in_block_prob "
       "logging_dir "
       "retriever_* glu_* epochs keep_last abort_on_unmet* kill_switch_path reset_progress reset_iteration "
       "norm_target_loss "
       "*standalone no_train version bert_* titles_data_path evidence_data_path block_data_path embedding_path "
       "legacy_legacy* num_samples phase_transition_iterations bert_no_binary_head enable_msc disable_msc "
       "sft_tokenizer* "
       "tokenizers* make_vocab_size_divisible_by"},
      {Use::no_effect, "checkpoints, which the rate leaves out",
       "save save_* persistent_save_interval load load_* no_save_* no_load_* non_persistent_* finetune "
       "pretrained_checkpoint ckpt_* use_checkpoint_args use_mp_args_from_checkpoint_args no_use_tokenizer_model* "
       "exit_on_missing_checkpoint auto_detect_ckpt_format no_ckpt_* async_save async_strategy async_ckpt_* "
       "use_persistent_ckpt_worker use_dist_ckpt dist_ckpt_* *distrib_optim_fully_reshardable* no_strict_fsdp* "
       "replication* override_ckpt_iteration most_recent_k verify_integrity onnx_safe ict_load bert_load "
       "universal_checkpoint verify_checkpoint* adlr_autoresume*"},
      {Use::no_effect, "evaluation, exit and restart, which the rate leaves out",
       "eval_* start_eval_at_iter skip_train full_validation multiple_validation_sets validation_set_names test_mode "
       "exit_* rerun_* enable_ft_package calc_ft_timeouts ft_num_warmup_iters inprocess_* manual_gc* no_manual_gc* "
       "train_sync_interval inference_* no_pin_* max_tokens_to_oom temperature top_k top_p return_log_probs "
       "num_tokens_to_generate output_path prompts incoming_requests_* stop_words no_record_throughput "
       "use_coordinator async_mode use_flashinfer* export_* repeated_dataloader force_system_message "
       "export_te_mcore_model modelopt_* finetune_hf_dataset use_legacy_static_engine enable_chunked_prefill "
       "flash_decode decode_only_cuda_graphs output_bert_embeddings bert_embedder_type num_speculative_tokens"},
      {Use::no_effect, "how processes start, and which implementation of the same model runs",
       "distributed_backend distributed_timeout_* local_rank lazy_mpu_init nccl_communicator_config_path "
       "disable_gloo_process_groups use_gloo* enable_gloo_process_groups pipeline_model_parallel_comm_backend "
       "tp_comm_bootstrap_backend "
       "tp_comm_overlap_cfg high_priority_stream_groups create_all_gather_group use_ring_exchange_p2p "
       "fake_process_group "
       "allow_transformer_engine use_mcore_models use_legacy_models spec transformer_impl deepspeed deepspeed_mpi "
       "no_pipeline_parallel use_pin_memory DDP_impl use_te flash deepspeed_mpi cf"},
      {Use::not_simulated, "predicted as the software's defaults, with fused kernels",
       "overlap_param_gather overlap_param_gather_with_optimizer_step no_align_* ddp_* "
       "gtp_* no_overlap_p2p_communication overlap_p2p_comm* overlap_p2p_communication_warmup_flush "
       "batch_p2p_comm* tp_comm_* no_tp_comm_* delay_wgrad_compute "
       "overlap_dispatch_backward_with_experts_wgrad ep_overlap_early_attn_memory_release "
       "defer_embedding_wgrad_compute "
       "wgrad_deferral_limit no_*_fusion *_fusion attention_backend use_flash_attn* flash_attention_version "
       "cross_entropy_* no_persist_layer_norm persist_layer_norm use_fused_* fused_* moe_permute_fusion* "
       "moe_router_fusion no_rope_fusion moe_grouped_gemm moe_use_legacy_grouped_gemm moe_use_grouped_tensor "
       "moe_single_grouped_* use_grouped_gemm_* moe_shared_expert_overlap "
       "moe_deepep_* moe_hybridep_* moe_ncclep_* moe_mlp_* moe_apply_probs_on_input "
       "high_priority_a2a_comm_stream use_transformer_engine_op_fuser use_te_activation_func disable_jit_fuser "
       "no_clone_scatter_output_in_embedding fp16_lm_cross_entropy use_nccl_ub* disable_symmetric_registration "
       "use_sharp sharp_enabled_group symmetric_ar_type suggested_communication_unit_size fsdp_double_buffer "
       "fsdp_manual_registration keep_fp8_transpose_cache no_use_layer_wise_param_layout megatron_fsdp_* "
       "no_gradient_reduce_div_fusion torch_fsdp2_no_reshard_after_forward fsdp_db_use_persist_buf_on_alloc_fail "
       "gradient_reduce_div_fusion check_for_nan_in_grad average_in_collective bucket_size "
       "align_param_gather deallocate_pipeline_outputs zero_reduce_* zero_allgather_* contiguous_gradients "
       "use_mcore_fsdp_double_buffer apply_rope_fusion masked_softmax_fusion use_te_rng_tracker "
       "te_precision_config_file"},
      {Use::not_simulated, "predicted without it: eager kernels, all recipes of a precision alike",
       "enable_cuda_graph external_cuda_graph cuda_graph_* optimizer_cuda_graph fp8_recipe fp8_margin fp8_interval "
       "fp8_amax_* no_fp8_wgrad fp8_wgrad fp8_output_proj fp8_param* fp8_quantizer_factory fp8_dot_product_attention "
       "fp8_multi_head_attention fp4_recipe fp4_param* fp4_quantizer_factory "
       "first_last_layers_bf16 num_layers_at_*_in_bf16 reuse_grad_buf_for_mxfp8_param_ag kitchen_* use_kitchen* "
       "moe_router_padding_for_* moe_router_quantile* moe_dispatch_fwd_dtype moe_combine_bwd_dtype "
       "disable_bf16_reduced_precision_matmul deterministic_mode batch_invariant_* output_logit_dtype"},
      {Use::not_simulated, "its memory is predicted as the software's default",
       "accumulate_allreduce_grads_in_fp32 grad_reduce_in_bf16 main_grads_dtype distribute_saved_activations "
       "empty_unused_memory_level "
       "cpu_offloading_weights cpu_offloading_double_buffering cpu_offloading cpu_offloading_activations "
       "fine_grained_activation_offloading offload_modules min_offloaded_tensor_size delay_offload_* "
       "delta_offload_* activation_offload_fraction fine_grained_offloading_* moe_paged_stash* "
       "optimizer_offload_fraction "
       "overlap_cpu_optimizer_d2h_h2d use_torch_optimizer_for_cpu_offload moe_layer_recompute mhc_recompute_* "
       "partition_activations checkpoint_in_cpu synchronize_each_layer profile_backward mlp_chunks_for_training "
       "remote_device cpu_torch_adam grad_reduce_in_fp32 params_dtype pipeline_dtype autocast_dtype enable_autocast"},
      {Use::not_simulated, "layers are predicted as evenly divided over stages",
       "decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers pipeline_model_parallel_layout "
       "num_layers_in_first_pipeline_stage num_layers_in_last_pipeline_stage "
       "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split mtp_* "
       "microbatch_group_size_per_virtual_pipeline_stage standalone_embedding_stage"},
      {Use::not_simulated, "ranks are predicted as one flat group of each kind",
       "hierarchical_context_parallel_sizes hybrid_context_parallel max_seqlen_per_dp_cp_rank "
       "num_distributed_optimizer_instances outer_dp_sharding_strategy enable_full_sharding_in_hsdp "
       "tensor_parallel_num_weight_shards expert_tensor_parallel_num_weight_shards"},
      {Use::not_simulated, "tokens are predicted as evenly routed (see --expert-imbalance)",
       "moe_router_load_balancing_type moe_pad_* moe_token_drop_policy moe_token_dropping moe_router_num_groups "
       "moe_router_group_topk moe_enable_routing_replay moe_expert_rank_capacity_factor moe_use_upcycling "
       "moe_upcycling_granularity moe_train_capacity_factor moe_eval_capacity_factor moe_min_capacity "
       "disable_moe_token_dropping create_moe_param_group moe_loss_coeff router_aux_loss_coef"},
      {Use::not_simulated, "parts of a model that --model gives",
       "recompute_vision img_* image_* patch_* pixel_shuffle freeze_* disable_vision_class_token language_model_type "
       "vision_* "
       "mm_projector_type tune_mm_mlp_adapter allow_missing_vision_projection_checkpoint dynamic_resolution use_tiling "
       "max_num_tiles use_thumbnail use_image_tag use_tile_tags use_area_weighted_aspect_ratio "
       "use_vision_backbone_fp8_arch "
       "use_loss_scaling encoder_* decoder_* llm_* export_force_local_attention enable_gpt_oss linear_conv_kernel_dim "
       "linear_* retro_* hybrid_attention_ratio hybrid_mlp_ratio embed_layernorm use_alibi_mask rotary_scale_factor "
       "disable_bias_linear_fc disable_bias_attn_fc mamba_inference_* online_evaluation* packing_*"},
      {Use::not_simulated, "the schedule and the layers' division over stages are predicted as Megatron-LM's",
       "ds_sequence_parallel_fpdt* pp_partition_method enable_zbh1* no_async_tensor_model_parallel_allreduce mup"},
      {Use::not_simulated, "every batch is predicted as equal and full",
       "step_batch_size_schedule decrease_batch_size_if_needed variable_seq_lengths sft freeze_all_layers "
       "mos mlp_type kd kd_* *_teacher distill* compression* transformer_type "
       "attention_output_gate qk_l2_norm random_ltd curriculum_learning* mrope_section logits_* "
       "cache_mla_latents mla_down_proj_fusion"},
  };
  return all;
}

const std::vector<UnreadKeys>& environment_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "how processes find each other",
       "env.MASTER_* env.NODE_RANK env.RANK env.LOCAL_RANK env.WORLD_SIZE env.HOSTNAME env.HOSTFILE "
       "env.GLOO_* env.NCCL_SOCKET_IFNAME env.NCCL_DEBUG* env.NCCL_IB_TIMEOUT env.NCCL_IB_RETRY_CNT "
       "env.TORCH_NCCL_* env.NCCL_ASYNC_ERROR_HANDLING env.NCCL_BLOCKING_WAIT env.NCCL_TIMEOUT env.NNODES env.NODES "
       "env.GPUS_PER_NODE env.NPROC_PER_NODE env.NGPU env.NUM_* launcher.node_rank launcher.rdzv_* "
       "launcher.master_addr launcher.master_port "
       "launcher.machine_rank "
       "launcher.main_process_ip launcher.main_process_port launcher.rdzv* launcher.local_addr "
       "launcher.monitor_interval launcher.max_restarts launcher.start_method "
       "launcher.main_training_function launcher.same_network launcher.rdzv_backend launcher.local_rank "
       "launcher.machine_rank launcher.deepspeed_hostfile"},
      {Use::no_effect, "parts of the command, which is read where it runs",
       "env.CMD env.LAUNCHER env.*LAUNCHER env.*_ARGS env.ARGS env.*SCRIPT env.*_PARAMS env.*_OPTIONS env.MODE "
       "env.TEST_TYPE "
       "env.FORCE_TORCHRUN env.SLURM_*"},
      {Use::no_effect, "paths, logs and tokens of services",
       "env.*_NAME env.TORCHELASTIC_* env.HTTPX_* env.GIT_* env.*LOG_LEVEL env.*_ROOT env.*_FILE env.WKDIR "
       "env.PYTHONPATH env.PATH env.LD_LIBRARY_PATH env.HF_* env.WANDB_* env.TRANSFORMERS_* env.TOKENIZERS_* "
       "env.LOG* env.LOGLEVEL env.TORCH_DISTRIBUTED_DEBUG env.TORCH_CPP_LOG_LEVEL env.PYTHON* env.*_PATH env.*_DIR "
       "env.*_HOME env.*_CACHE env.EXP_NAME env.TENSORBOARD* env.HYDRA_FULL_ERROR env.MLFLOW* env.DATE env.USER "
       "launcher.log_dir launcher.tee launcher.redirects launcher.role launcher.local_ranks_filter launcher.save_pid "
       "launcher.enable_each_rank_log launcher.output* launcher.error* "
       "launcher.job_name launcher.J launcher.o launcher.e launcher.p launcher.partition launcher.A launcher.account "
       "launcher.t launcher.time launcher.mail_* launcher.qos launcher.q launcher.comment launcher.requeue "
       "launcher.chdir "
       "launcher.D launcher.signal launcher.open_mode launcher.dependency launcher.array launcher.export "
       "launcher.no_python launcher.module launcher.m launcher.no_ssh launcher.no_ssh_check "
       "launcher.launcher "
       "launcher.force_multi launcher.label launcher.l launcher.u launcher.unbuffered launcher.container_* "
       "launcher.kill_on_bad_exit launcher.K launcher.wait launcher.allow_run_as_root "
       "launcher.quiet launcher.v launcher.verbose launcher.jobid launcher.overlap launcher.no_container* "
       "launcher.overcommit launcher.mpi launcher.debug launcher.tag_output "
       "launcher.report_bindings launcher.x launcher.X"},
      {Use::no_effect, "processors and memory of the host, which nothing waits for",
       "env.OMP_* env.MKL_* env.KMP_* env.MALLOC_* env.LD_PRELOAD launcher.cpus_per_task launcher.c launcher.mem "
       "launcher.mem_per_cpu "
       "launcher.mem_per_gpu "
       "launcher.exclusive launcher.hint launcher.cpu_bind launcher.gpu_bind launcher.bind_to launcher.map_by "
       "launcher.num_cpu_threads_per_process launcher.threads_per_core "
       "launcher.distribution launcher.m launcher.mem_bind launcher.ntasks_per_socket launcher.constraint launcher.C "
       "launcher.nodelist launcher.w sbatch.exclude srun.exclude "
       "launcher.x launcher.switches "
       "launcher.contiguous launcher.propagate launcher.gpus_per_task launcher.ntasks_per_gpu launcher.oversubscribe "
       "launcher.mca launcher.prefix launcher.mincpus "
       "launcher.reservation "
       "launcher.bind_cores_to_rank launcher.bind_core_list launcher.no_local_rank launcher.numa_binding "
       "launcher.ipex* launcher.mpirun*"},
      {Use::not_simulated, "NCCL's own choice is predicted",
       "env.NCCL_* env.RCCL_* env.SHARP_* env.FI_* env.UCX_* env.OMPI_* env.UB_* env.PMI* env.HSA_* "
       "env.GPU_MAX_HW_QUEUES "
       "env.RDMAV_* env.TORCH_NCCL*"},
      {Use::not_simulated, "predicted as the software's default",
       "env.CUDA_DEVICE_MAX_CONNECTIONS env.NVTE_* env.PYTORCH_* env.TORCH_* env.CUDA_LAUNCH_BLOCKING env.XLA_* "
       "env.CUDNN_* env.CUBLAS_* env.TRITON_* env.TF_* env.JAX_* env.NVSHMEM* env.DS_* env.ACCELERATE_* env.USE_* "
       "env.PRIMUS_* env.HIP_* env.ROCM* env.MIOPEN* env.TE_* env.NVIDIA_* env.CUDA_MODULE_LOADING env.CUDA_* "
       "env.ENABLE_* env.PATCH_* env.HIPBLASLT* env.DISABLE_*"},
  };
  return all;
}

}  // namespace lockstep::sim::launch
