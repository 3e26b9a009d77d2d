// GPT-NeoX: Megatron-LM's and DeepSpeed's keys in one file, written with hyphens or underscores.
#include <sstream>

#include "engine/base/text.hpp"
#include "sim/launch/deepspeed.hpp"
#include "sim/launch/deepspeed_conflicts.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/other_configs.hpp"
#include "sim/launch/swift.hpp"

namespace lockstep::sim::launch {
namespace {

void rename_neox_keys(LaunchSettings& s) {
  s.replace_hyphens();
  static const std::vector<std::pair<const char*, const char*>> kNames{
      {"pipe_parallel_size", "pipeline_model_parallel_size"},
      {"model_parallel_size", "tensor_model_parallel_size"},
      {"train_micro_batch_size_per_gpu", "micro_batch_size"},
      {"train_batch_size", "global_batch_size"},
      {"intermediate_size", "ffn_hidden_size"},
      {"num_kv_heads", "num_key_value_heads"},
      {"norm", "normalization"},
      {"pos_emb", "position_embedding_type"},
      {"rotary_pct", "rotary_percent"},
      {"no_weight_tying", "untie_embeddings_and_output_weights"},
      {"moe_num_experts", "num_experts"},
      {"moe_top_k", "moe_router_topk"}};
  for (const auto& [from, to] : kNames) s.rename(from, to);
}

// num_gpus counts the GPUs of each node of the host file. num_nodes is -1, or absent, for all nodes.
void read_neox_machine(LaunchSettings& s, Facts& f, const ReadNamedFile& read_named) {
  if (const auto count = s.whole("num_gpus", "--gpus"); count && *count > 0) {
    const LaunchSetting setting = s.at("num_gpus");
    f.give_gpus_per_node(*count, setting.place, setting.written);
  }
  const auto nodes = s.whole("num_nodes", "--gpus");
  if (nodes && *nodes > 0) {
    const LaunchSetting setting = s.at("num_nodes");
    return f.give_nodes(*nodes, setting.place, setting.written);
  }
  const auto name = s.file_name("hostfile");
  if (!name) {
    f.has_unknown_nodes = f.has_unknown_nodes || nodes.has_value();
    return;
  }
  const LaunchSetting setting = s.at("hostfile");
  const std::optional<std::string> text = read_named(*name).text;
  std::int64_t hosts = 0;
  std::istringstream lines(text.value_or(""));
  for (std::string line, host; std::getline(lines, line);)
    if (std::istringstream(line.substr(0, line.find('#'))) >> host) ++hosts;
  if (hosts > 0) return f.give_nodes(hosts, setting.place, setting.written);
  f.has_unknown_nodes = true;
  s.require_option(setting, "--gpus", "the host file is not there, and num_gpus counts the GPUs of a node");
}

void read_neox(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  f.give_default("--software", "Megatron-DeepSpeed", "GPT-NeoX is predicted as Megatron-DeepSpeed");
  rename_neox_keys(s);
  // 0 stages means no pipeline modules.
  if (s.whole("pipeline_model_parallel_size", "--pipeline") == 0) s.replace("pipeline_model_parallel_size", 1);
  const std::string activation = lower_case(s.text("activation", "--model").value_or("gelu"));
  if (activation == "swiglu" || activation == "silu") s.replace_key("activation", "swiglu", true);
  if (activation == "geglu") s.replace_key("activation", "quick_geglu", true);
  const std::string precision = lower_case(s.text("precision", "--precision").value_or(""));
  if (precision.find("bf") == 0) s.replace_key("precision", "bf16", true);
  if (precision == "fp16") s.replace_key("precision", "fp16", true);
  for (const char* name : {"bf16", "fp16"})
    if (s.is_on(std::string(name) + ".enabled", "--precision") && !f.has("--precision"))
      f.give_from("--precision", name, s, std::string(name) + ".enabled");
  for (const LaunchSetting& setting : s.all())
    for (const char* other : {"mamba", "rwkv", "mlp"})
      if (setting.key.compare(0, 16, "attention_config") == 0 &&
          plain_text(setting.value).find(other) != std::string::npos && !f.has("--model"))
        s.require_option(setting, "--model", "layers without attention are not read");
  if (!s.has("gradient_accumulation_steps")) s.rename("gas", "gradient_accumulation_steps");
  const auto steps = s.whole("gradient_accumulation_steps", "--accumulation");
  read_neox_machine(s, f, read_named);
  read_megatron(s, f, catalogue, MegatronKeys::configuration);
  if (!f.global_batch) f.accumulation = steps.value_or(1);
  read_deepspeed(s, f);
  refuse_conflicting_batches(s, f);
  if (!f.has("--sharding")) f.give_default("--sharding", "none", "no sharding is given");
  if (!f.has("--recompute")) f.give_default("--recompute", "none", "no recomputation is given");
}

const std::vector<UnreadKeys>& neox_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "data, logs, checkpoints and numbers on which no kernel's time depends",
       "data_impl *_data_paths *_data_weights *_data_path init_method output_layer_init_method rms_norm_epsilon "
       "layer_norm_epsilon rotary_emb_base keep_last_n_checkpoints extra_save_iters pack_impl allow_chopped hostfile "
       "include launcher log_* use_wandb wandb_* use_comet comet_* tokenizer_type vocab_file merge_file "
       "train_impl dataset_impl mup* checkpoint_validation_with_forward_pass checkpoint checkpoint_scale "
       "save_iters iteration do_* decay_lr_to warmup_iters override_lr_scheduler lr_decay_fraction warmup "
       "optimizer.params* "
       "deepspeed_extra_args.* deepspeed_mpi no_ssh_check deepspeed_slurm global_num_gpus user_script master_port "
       "maximum_tokens temperature top_p top_k sample_* text_gen_type num_samples prompt_end detect_nvlink_pairs "
       "s3_* label_data_paths *_label_data* attention_softmax_in_fp32 autotuning* recompute seq_length_* "
       "force_distributed_checkpoint dpo_* kto_* pos_* neg_* precompute* train_* save load config_files eval_tasks "
       "short_seq_prob mmap_warmup comment launcher_args account"},
      {Use::not_simulated, "predicted as the software's defaults, with fused kernels",
       "*_fusion attention_config* gpt_j_residual gpt_j_tied output_layer_parallelism checkpoint_num_layers "
       "checkpoint_factor partition_activations synchronize_each_layer contiguous_checkpointing checkpoint_in_cpu "
       "use_bias_* mlp_multiple_of use_flashattn_swiglu te_* use_bnb_optimizer sparsity_config* gmlp_attn_dim "
       "mamba_* rwkv_* dim_att head_size ffn_dim opt_pos_emb_offset use_qk_layernorm apply_query_key_layer_scaling "
       "sliding_window_width use_cpu_initialization activation moe_* expert_interval memory_profiling* "
       "use_shared_fs fp32_allreduce fp16_lm_cross_entropy zero_optimization.* distributed_backend parallel_output"},
  };
  return all;
}

}  // namespace

LaunchReader neox_reader() {
  return {LaunchFormat::gpt_neox, "GPT-NeoX's configuration",
          [](const LaunchSettings& s) {
            return has_any_key(s, {"pipe_parallel_size", "pipe-parallel-size"}) ||
                   (has_any_key(s, {"num_layers", "num-layers"}) && has_any_key(s, {"train_micro_batch_size_per_gpu"}));
          },
          read_neox, both_tables(neox_unread(), both_tables(megatron_unread(), deepspeed_unread()))};
}

std::vector<LaunchReader> other_readers() {
  return {neox_reader(),   nanotron_reader(), torchtune_reader(), llm_foundry_reader(),
          mlperf_reader(), swift_reader(),    automodel_reader()};
}

}  // namespace lockstep::sim::launch
