// Keys of MaxText that are not read, grouped by reason.
#include "sim/launch/pretraining_configs.hpp"

namespace lockstep::sim::launch {

const std::vector<UnreadKeys>& maxtext_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "quantization decides", "dtype weight_dtype"},
      {Use::no_effect, "learning rate, data, logs and checkpoints, which the rate leaves out",
       "run_name base_config base_output_directory enable_checkpointing* *checkpoint* async_checkpointing "
       "metrics_file gcs_metrics enable_wandb wandb_* save_config_to_gcs log_period profiler* *_profiler* profile_* "
       "learning_rate* "
       "lr_* warmup_* adam_* gradient_clipping_threshold dataset_* tokenizer_* grain_* hf_* train_* eval_* *_seed "
       "enable_data_shuffling load_* enable_tensorboard use_vertex* dump_* monitor_* *goodput* report_* hardware "
       "jax_* add_bos add_eos tokenize_* packing num_epoch max_segments_per_seq decode_* prompt "
       "abort_on_* target_eval_loss log_config reuse_example_batch max_corpus_chars init_weights_seed enable_dropout "
       "normalization_layer_epsilon rope_* *_rope_* dropout_rate override_model_config compiled_trainstep_file "
       "enable_single_controller max_position_embeddings argument per_device_batch_size_start load_balance_loss_weight "
       "olmo_* training.mock_data pure_nnx* sharding_tolerance "
       "cast_logits_to_fp32 routed_* skip_first_n_steps_for_profiler"},
      {Use::no_effect, "logs, restarts, inference and numbers on which no kernel's time depends",
       "managed_mldiagnostics* prometheus_port xprof_* tpu_num_* inference_* prefill_* generate_* multi_sampling "
       "return_log_prob stack_prefill* ar_cache* compute_axis_order reshape_q autoregressive* max_prefill* vertex_* "
       "*_placeholder image_path "
       "video_* audio_path chat_template* default_prompt max_checkify debug_sharding write_estimator* "
       "step_deviation* heartbeat* muon_* adamw_mask wsd_* trainable_* skip_step_* distill_* elastic_* vllm_* "
       "lora_input* save_quantized* model_call_mode dense_init_scale record_internal* z_loss* qk_clip* mscale beta_* "
       "original_max_position* temperature_tuning expansion_factor_real_data skip_jax* freeze_* image_size_for_vit "
       "norm_topk_prob position_id_per_seconds max_num_images* colocated_python* sft_train_on* training_objective "
       "block_diffusion* max_inflight* global_rampup* per_device_batch_size_increment"},
      {Use::not_simulated, "parts of other models",
       "*_for_vit *_for_audio dtype_mm mrope_section vision_output_length gdn_* indexer_* moba* engram* mhc_* "
       "sinkhorn_iterations q_lora_rank kv_lora_rank o_lora_rank qk_nope* v_head_dim o_groups compress_ratios "
       "*_per_layer_input num_kv_shared_layers share_kv* nope_layer_interval chunk_attn_window_size global_head_dim "
       "global_num_kv_heads attention_output_dim attention_bias attention_sink mlp_bias mlp_activations_limit "
       "*_norm_with_scale normalize_embedding_logits n_routing_groups topk_routing_group first_num_hash_layers "
       "inhomogeneous_layer_cycle_interval partial_rotary_factor num_experts_per_tok base_moe_mlp_dim "
       "causal_block_size "
       "diloco_* num_diloco* *_communication_* communication_overlapping* mtc_data_parallelism"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "attention attention_type scan_* use_iota_embed logits_dot_in_fp32 fused_* matmul_precision float32_* "
       "activations_in_float32 megablox sparse_matmul capacity_factor use_* sa_* compile_* internal_* shard_mode "
       "mu_dtype grad_dtype "
       "num_layers_per_pipeline_stage num_pipeline_repeats pipeline_* custom_mesh* logical_axis_rules mesh_axes "
       "data_sharding allow_split_physical_axes optimize_mesh* *_proj mlpw* decoder_layer_input context out_proj mla_* "
       "num_slices dcn_* ici_* shardy parameter_memory_host_offload remat_* set_remat* enable_* context_parallel_* "
       "decoder_block weight_sparsity_* constant_bound_config quantize_* replicate_quant_scale first_num_dense_layers "
       "shared_experts "
       "moe_* base_num_decoder_layers base_emb_dim base_num_query_heads base_num_kv_heads base_mlp_dim head_dim "
       "logical_axis_rules* *_logical_axis_rules data_sharding* input_data_sharding* *_context_sharding "
       "context_sharding "
       "check_vma shard_* dense_fsdp* num_vocab_tiling vocab_tiling* ragged_* wi_tile* wo_tile* local_sa_* local_use* "
       "experimental_sa* cost_estimate* dq_reduction* prefix_caching* merge_gating* num_moe_* batch_split_factor "
       "kv_quant* quant_cfg_path *_quantization_* quantization_local* te_comm* force_* param_scan_axis attention_out "
       "subslice_shape remove_size_one* ring_scan* "
       "sliding_window_size *_softcap* *_soft_cap mtp_* interleave_moe_layer_step"},
  };
  return all;
}

}  // namespace lockstep::sim::launch
