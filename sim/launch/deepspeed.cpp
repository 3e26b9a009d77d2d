#include "sim/launch/deepspeed.hpp"

#include "engine/base/text.hpp"
#include "sim/launch/deepspeed_conflicts.hpp"

namespace lockstep::sim::launch {
namespace {

void read_stage(LaunchSettings& s, Facts& f) {
  // Old versions: "zero_optimization": true means stage 1.
  if (s.has("zero_optimization"))
    s.replace_key("zero_optimization", "zero_optimization.stage", s.is_on("zero_optimization", "--sharding") ? 1 : 0);
  const auto stage = s.whole("zero_optimization.stage", "--sharding");
  if (!stage) return;
  const LaunchSetting* setting = s.take("zero_optimization.stage");
  if (*stage < 0 || *stage > 3) fail_at(*setting, "is no stage of ZeRO", "give 0 to 3");
  f.give("--sharding", *stage == 0 ? "none" : "zero" + std::to_string(*stage), setting->place, setting->written);
  const auto group = s.whole("zero_optimization.zero_hpz_partition_size", "--sharding-group");
  if (group && *group > 1)
    s.mark("zero_optimization.zero_hpz_partition_size", Use::not_simulated, "weights are gathered over all ranks");
  if (const auto group_size = s.whole("zero_optimization.mics_shard_size", "--sharding-group");
      group_size && *group_size > 0) {
    const LaunchSetting* mics = s.take("zero_optimization.mics_shard_size");
    f.give("--sharding-group", std::to_string(*group_size), mics->place, mics->written);
  }
}

// DeepSpeed exchanges gradients during the backward pass with "overlap_comm", which is on by default in stage 3 alone.
void read_overlap(LaunchSettings& s, Facts& f) {
  const char* const key = "zero_optimization.overlap_comm";
  const std::string stage = f.value_of("--sharding");
  const LaunchSetting* const given = s.take(key, "--overlap-gradients");
  if (given != nullptr && !given->value.is_null())
    f.give_from(s.is_on(key, "--overlap-gradients") ? "--overlap-gradients" : "--no-overlap-gradients", "", s, key);
  else if (stage == "zero1" || stage == "zero2")
    f.give_default("--no-overlap-gradients", "", "DeepSpeed's default");
  else if (stage == "zero3")
    f.give_default("--overlap-gradients", "", "DeepSpeed's default in stage 3");
}

void read_offload(LaunchSettings& s, Facts& f) {
  for (const char* key : {"zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload"}) {
    const std::string device = s.text(key, "--offload-optimizer").value_or("none");
    if (device == "none" || device == "false") continue;
    if (device == "nvme") {
      s.mark(key, Use::not_simulated, "the optimizer's state on NVMe; host memory is predicted");
    }
    const LaunchSetting* setting = s.take(key);
    f.give_flag("--offload-optimizer", setting->place, setting->written);
    if (device == "nvme") s.mark(key, Use::not_simulated, "state on NVMe is predicted as in host memory");
  }
  const std::string weights = s.text("zero_optimization.offload_param.device", "--offload-optimizer").value_or("none");
  if (weights != "none")
    s.mark("zero_optimization.offload_param.device", Use::not_simulated, "weights are predicted as kept on the GPUs");
}

void read_deepspeed_precision(LaunchSettings& s, Facts& f) {
  for (const char* name : {"bf16", "fp16", "bfloat16"}) {
    const std::string key = std::string(name) + ".enabled";
    if (!s.is_on(key, "--precision") || f.has("--precision")) continue;
    const LaunchSetting* setting = s.take(key);
    f.give("--precision", std::string(name) == "fp16" ? "fp16" : "bf16", setting->place, setting->written);
  }
}

void read_deepspeed_batch(LaunchSettings& s, Facts& f) {
  const auto micro = s.whole("train_micro_batch_size_per_gpu", "--micro-batch");
  const auto all = s.whole("train_batch_size", "--global-batch");
  auto steps = s.whole(kAccumulationOfDeepspeed, "--accumulation");
  if (!steps) steps = s.whole("gradient_accumulation_steps", "--accumulation");
  if (micro && !f.micro_batch) f.micro_batch = micro;
  if (all && !f.global_batch) f.global_batch = all;
  if (steps && !f.accumulation) f.accumulation = steps;
  const std::int64_t gpus = f.given_gpus > 0 ? f.given_gpus : f.gpus().value_or(0),
                     ranks = f.number_of("--tensor", 1) * f.number_of("--pipeline", 1);
  const std::int64_t replicas = ranks > 0 ? gpus / ranks : 0;
  if (f.global_batch && !f.micro_batch && replicas > 0 &&
      *f.global_batch % (replicas * f.accumulation.value_or(1)) == 0)
    f.micro_batch = *f.global_batch / (replicas * f.accumulation.value_or(1));
  if (f.global_batch && !f.micro_batch)
    f.notes.push_back("the micro-batch follows from the number of GPUs, which is not known: give --micro-batch");
  if (f.micro_batch && !f.global_batch && !f.accumulation) {
    f.accumulation = 1;
    if (s.has("auto gradient_accumulation_steps") && !s.has("gradient_accumulation_steps"))
      f.notes.push_back("gradient_accumulation_steps is \"auto\": one micro-batch is assumed; give --accumulation");
  }
}

}  // namespace

void read_deepspeed(LaunchSettings& s, Facts& f) {
  s.set_aside_auto();
  read_stage(s, f);
  read_overlap(s, f);
  read_offload(s, f);
  read_deepspeed_precision(s, f);
  read_deepspeed_batch(s, f);
  if (const auto size = s.whole("tensor_parallel.autotp_size", "--tensor"); size && *size > 1) {
    const LaunchSetting* setting = s.take("tensor_parallel.autotp_size");
    f.give("--tensor", std::to_string(*size), setting->place, setting->written);
  }
  const std::string optimizer = lower_case(s.text("optimizer.type", "--optimizer").value_or(""));
  const bool is_compressed = optimizer.find("onebit") == 0 || optimizer.find("zeroone") == 0;
  if (optimizer.find("adam") != std::string::npos)
    f.give("--optimizer", "adam", s.take("optimizer.type")->place, "optimizer.type");
  else if (optimizer == "lamb" || optimizer == "fusedlamb" || optimizer == "onebitlamb")
    f.give("--optimizer", "lamb", s.take("optimizer.type")->place, "optimizer.type");
  else if (!optimizer.empty() && !is_compressed)
    s.mark("optimizer.type", Use::not_simulated, "the software's default is predicted");
  if (is_compressed)
    s.mark("optimizer.type", Use::not_simulated, "its compressed gradients: the exchange is predicted uncompressed");
}

const std::vector<UnreadKeys>& deepspeed_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "learning rate, logs, data and checkpoints",
       "optimizer.params* scheduler.* steps_per_print wall_clock_breakdown dump_state gradient_clipping "
       "fp16.loss_scale* fp16.initial_scale_power fp16.hysteresis fp16.min_loss_scale fp16.auto_cast "
       "fp16.consecutive_hysteresis tensorboard.* wandb.* csv_monitor.* comet.* monitor_config* comms_logger.* "
       "flops_profiler.* checkpoint.* load_universal_checkpoint zero_allow_untested_optimizer "
       "zero_force_ds_cpu_optimizer seed data_types.* disable_allgather prescale_gradients gradient_predivide_factor "
       "memory_breakdown train_data* eigenvalue.* nebula.* "
       "zero_optimization.stage3_gather_16bit_weights_on_model_save "
       "zero_optimization.stage3_gather_fp16_weights_on_model_save zero_optimization.load_from_fp32_weights "
       "zero_optimization.elastic_checkpoint zero_optimization.ignore_unused_parameters "
       "use_data_before_expert_parallel* "
       "dataloader_drop_last graph_harvesting"},
      {Use::not_simulated, "DeepSpeed then chooses the batch itself; the given one is predicted",
       "elasticity.* autotuning.*"},
      {Use::not_simulated, "the training script divides the layers into stages; give --pipeline", "pipeline.stages"},
      {Use::not_simulated, "predicted as DeepSpeed's defaults",
       "zero_optimization.contiguous_gradients zero_optimization.*bucket_size "
       "zero_optimization.reduce_scatter zero_optimization.allgather_partitions zero_optimization.sub_group_size "
       "zero_optimization.stage3_max_live_parameters zero_optimization.stage3_max_reuse_distance "
       "zero_optimization.stage3_prefetch_bucket_size zero_optimization.stage3_param_persistence_threshold "
       "zero_optimization.stage3_model_persistence_threshold zero_optimization.stage3_module_granularity_threshold "
       "zero_optimization.stage3_use_all_reduce_for_fetch_params zero_optimization.stage3_allgather_sequential "
       "zero_optimization.round_robin_gradients "
       "zero_optimization.offload_optimizer.* zero_optimization.offload_param.* zero_optimization.zero_quantized_* "
       "zero_optimization.mics_* zero_optimization.use_multi_rank_bucket_allreduce "
       "zero_optimization.model_persistence* "
       "zero_optimization.param_persistence* zero_optimization.memory_efficient_linear zero_optimization.log_trace* "
       "communication_data_type seq_parallel_communication_data_type fp32_allreduce sparse_gradients "
       "bf16.enabled bf16.auto_cast bf16.immediate_grad_update bf16.check_grad_overflow "
       "bf16.bf16_master_weights_and_grads bf16.bf16_optimizer_states bfloat16.enabled bfloat16.immediate_grad_update "
       "fp16.enabled fp16.fp16_master_weights_and_grads amp.* torch_autocast.* compile.* timers.* aio.* "
       "hybrid_engine.* "
       "tensor_parallel.dtype tensor_parallel.tp_overlap_comm tensor_parallel.tensor_parallel.* "
       "tensor_parallel.injection_policy_tuple tensor_parallel.keep_module_on_host "
       "tensor_parallel.replace_with_kernel_inject"},
      {Use::not_simulated, "recomputed as the training script says", "activation_checkpointing.*"},
      {Use::not_simulated, "every batch is predicted as equal and full",
       "curriculum_learning.* data_efficiency.* progressive_layer_drop.* sparse_attention.* compression_training.* "
       "quantize_training.* pipeline.*"},
  };
  return all;
}

}  // namespace lockstep::sim::launch
