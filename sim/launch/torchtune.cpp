// torchtune's YAML: components by their Python names, FSDP over all GPUs.
#include "engine/base/text.hpp"
#include "sim/job/given_split.hpp"
#include "sim/launch/lora_target.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/other_configs.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

// "torchtune.models.llama3_1.qlora_llama3_1_8b" names the model and how it is trained: adapters on 4-bit weights.
void read_tuned_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const auto component = s.text("model._component_", "--model");
  if (!component) return;
  std::string name = last_part_of(*component, '.');
  if (name.compare(0, 5, "lora_") != 0 && name.compare(0, 6, "qlora_") != 0)
    f.give_default("--task", kAllWeights, "torchtune fine-tunes");
  for (const std::string prefix : {"qlora_", "lora_"})
    if (name.compare(0, prefix.size(), prefix) == 0) {
      name.erase(0, prefix.size());
      const std::int64_t rank = s.whole("model.lora_rank", "--lora-rank").value_or(8);
      s.has("model.lora_rank") ? f.give_from("--lora-rank", std::to_string(rank), s, "model.lora_rank")
                               : f.give_default("--lora-rank", std::to_string(rank), "torchtune's default");
      read_lora_target(s, f);
      if (prefix == "qlora_") f.give_from("--frozen-weights", "nf4", s, "model._component_");
    }
  for (const std::string ending : {"_instruct", "_base"})
    if (name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0)
      name.resize(name.size() - ending.size());
  if (const ModelEntry* entry = model_named(name, catalogue))
    return f.give_from("--model", sized_name(entry->id, f.sequence), s, "model._component_");
  s.require_option(s.at("model._component_"), "--model",
                   in_quotes(name) + " is no model of the catalogue; --model also takes the path of its config.json");
}

void read_torchtune(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  for (const char* other : {"teacher_model._component_", "policy_model._component_", "ref_checkpointer._component_"})
    if (const LaunchSetting* setting = s.take(other))
      fail_at(*setting, "cannot be predicted: only supervised fine-tuning is", "give another configuration");
  f.sequence = s.whole("tokenizer.max_seq_len", "--model").value_or(0);
  if (f.sequence == 0 && s.has("tokenizer.max_seq_len"))
    f.notes.push_back("tokenizer.max_seq_len is no number; give --seq-length");
  f.micro_batch = s.whole("batch_size", "--micro-batch");
  f.accumulation = s.whole("gradient_accumulation_steps", "--accumulation").value_or(1);
  f.give_default("--software", s.is_on("compile") ? "PyTorch FSDP torch.compile" : "PyTorch FSDP", "torchtune");
  if (s.whole("tensor_parallel_dim", "--tensor").value_or(1) > 1) f.give_whole("--tensor", s, "tensor_parallel_dim");
  f.give_default("--sharding", "zero3", "torchtune's distributed recipes");
  const auto shards = s.whole("data_parallel_shard_dim", "--sharding-group");
  if (shards && *shards > 1 && s.whole("data_parallel_replicate_dim", "--sharding-group").value_or(1) > 1)
    f.give_whole("--sharding-group", s, "data_parallel_shard_dim");
  const std::string type = s.text("dtype", "--precision").value_or("bf16");
  f.give_from("--precision", type == "fp32" ? "fp32" : "bf16-true", s, "dtype");
  f.give_default("--recompute", s.is_on("enable_activation_checkpointing", "--recompute") ? "full" : "none",
                 "enable_activation_checkpointing");
  for (const char* key : {"fsdp_cpu_offload", "fsdp.cpu_offload"})
    if (s.is_on(key, "--offload-optimizer")) f.give_from("--offload-optimizer", "", s, key);
  const std::string optimizer =
      lower_case(last_part_of(s.text("optimizer._component_", "--optimizer").value_or("AdamW"), '.'));
  if (optimizer.find("adam") != std::string::npos && optimizer.find("8bit") != std::string::npos) {
    f.give_default("--optimizer", "adam", "optimizer._component_");
    f.give_from("--optimizer-state", "8bit", s, "optimizer._component_");
  } else if (optimizer == "adafactor") {
    f.give_default("--optimizer", "adafactor", "optimizer._component_");
  } else if (optimizer == "adam" || optimizer == "adamw") {
    f.give_default("--optimizer", "adam", "optimizer._component_");
  } else {
    s.mark("optimizer._component_", Use::not_simulated, "the software's default is predicted");
  }
  read_tuned_model(s, f, catalogue);
}

const std::vector<UnreadKeys>& torchtune_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "data, logs, checkpoints and numbers on which no kernel's time depends",
       "argument output_dir checkpointer.* tokenizer.* dataset.* dataset dataset_val* batch_size_val run_val_* seed "
       "shuffle "
       "resume_* log_* metric_logger.* profiler.* lr_scheduler.* optimizer.* clip_grad_norm save_* collate_fn "
       "model.lora_alpha model.lora_dropout model.use_dora epochs max_steps_per_epoch device loss.* low_cpu_ram "
       "model.image_size keep_last* prompt* limit tasks max_seq_length temperature top_k"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "enable_activation_offloading optimizer_in_bwd custom_sharded_layers tensor_parallel_plan.* ac_mode ac_option "
       "memory_efficient_fsdp_wrap use_flex model.* quantizer* enable_kv_cache use_distributed_state_dict fsdp.* "
       "fp8* enable_fp8* enable_async* context_parallel_dim"},
  };
  return all;
}

}  // namespace

LaunchReader torchtune_reader() {
  return {LaunchFormat::torchtune, "torchtune's configuration",
          [](const LaunchSettings& s) {
            const bool is_component = s.has("model._component_") || s.has("policy_model._component_");
            return is_component && (s.has("batch_size") || s.has("checkpointer._component_"));
          },
          read_torchtune, torchtune_unread()};
}

}  // namespace lockstep::sim::launch
