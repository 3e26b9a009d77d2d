// NeMo Automodel's recipes: PyTorch FSDP2 on HuggingFace models. Sections: step_scheduler, distributed, model.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/job/given_split.hpp"
#include "sim/launch/lora_target.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/other_configs.hpp"
#include "sim/launch/own_model.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

std::string first_key(const LaunchSettings& s, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (s.has(key)) return key;
  return "";
}

void read_automodel_ranks(LaunchSettings& s, Facts& f) {
  for (const auto& [key, option] : {std::pair<std::string, std::string>{"distributed.tp_size", "--tensor"},
                                    {"distributed.pp_size", "--pipeline"},
                                    {"distributed.cp_size", "--context"}}) {
    const std::int64_t ranks = s.whole(key, option).value_or(1);
    s.has(key) && s.whole(key).has_value() ? f.give_from(option, std::to_string(ranks), s, key)
                                           : f.give_default(option, "1", "Automodel's default");
  }
  if (s.whole("distributed.ep_size", "--expert").value_or(1) > 1) f.give_whole("--expert", s, "distributed.ep_size");
  if (f.number_of("--tensor", 1) > 1) {
    const bool is_on = s.is_on("distributed.sequence_parallel", "--sequence-parallel");
    f.give_default(is_on ? "--sequence-parallel" : "--no-sequence-parallel", "", "distributed.sequence_parallel");
  }
}

// The strategy by name, or the manager's class: FSDP2Manager, MegatronFSDPManager, DDPManager.
void read_automodel_sharding(LaunchSettings& s, Facts& f) {
  const std::string key = first_key(s, {"distributed.strategy", "distributed._target_"});
  const std::string name = key.empty() ? "fsdp2" : lower_case(s.text(key, "--sharding").value_or("fsdp2"));
  const std::string manager = last_part_of(name, '.');
  const bool is_ddp = manager.find("ddp") == 0, is_fsdp = manager.find("fsdp") != std::string::npos;
  if (!is_ddp && !is_fsdp)
    return s.require_option(s.at(key), "--sharding", in_quotes(manager) + " is no known strategy");
  // FSDP2 keeps the weights between the micro-batches of a pipeline.
  const std::string reshards = "distributed.reshard_after_forward";
  const bool keeps = s.has(reshards) ? !s.is_on(reshards, "--sharding") : f.number_of("--pipeline", 1) > 1;
  const char* const sharding = is_ddp ? "none" : keeps && manager.find("megatron") != 0 ? "zero2" : "zero3";
  key.empty() ? f.give_default("--sharding", sharding, "Automodel's default")
              : f.give_from("--sharding", sharding, s, key);
  f.sharded_copies =
      std::max<std::int64_t>(1, s.whole("distributed.dp_replicate_size", "--sharding-group").value_or(1));
  if (s.text("distributed.offload_policy", "--offload-optimizer").value_or("").find("Offload") != std::string::npos)
    f.give_from("--offload-optimizer", "", s, "distributed.offload_policy");
}

// Gives the schedule, and the chunks of layers per rank that follow from pipeline.layers_per_stage.
void read_automodel_schedule(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const std::int64_t stages = f.number_of("--pipeline", 1);
  if (stages <= 1) return;
  const std::string section = s.has("autopipeline.pp_schedule") ? "autopipeline." : "distributed.pipeline.";
  const std::string key = section + "pp_schedule", schedule = lower_case(s.text(key, "--schedule").value_or("1f1b"));
  if (schedule == "1f1b" || schedule == "gpipe") {
    s.has(key) ? f.give_from("--schedule", schedule, s, key) : f.give_default("--schedule", schedule, "1F1B");
    return f.give_default("--virtual-stages", "1", "one chunk of layers per stage");
  }
  if (schedule != "interleaved1f1b")
    return s.require_option(s.at(key), "--schedule", in_quotes(schedule) + " is not read");
  f.give_from("--schedule", "interleaved", s, key);
  const std::string layers_key = section + "layers_per_stage";
  const auto of_stage = s.whole(layers_key, "--virtual-stages");
  const std::int64_t layers = layers_of(f.value_of("--model"), catalogue);
  if (!of_stage || *of_stage < 1 || layers == 0)
    return s.require_option(s.at(key), "--virtual-stages", "the layers of a stage are not known");
  const std::int64_t chunks = (layers + *of_stage - 1) / *of_stage;
  const bool rounds_up = s.text(section + "round_virtual_stages_to_pp_multiple").value_or("") == "up";
  const std::int64_t of_rank = rounds_up ? (chunks + stages - 1) / stages : std::max<std::int64_t>(1, chunks / stages);
  f.give_from("--virtual-stages", std::to_string(of_rank), s, layers_key);
}

void read_automodel_model(LaunchSettings& s, Facts& f, const Catalogue& catalogue) {
  const bool is_packed = s.whole("packed_sequence.packed_sequence_size", "--seq-length").value_or(0) > 0;
  const std::string length = is_packed ? "packed_sequence.packed_sequence_size"
                                       : first_key(s, {"dataset.seq_len", "dataset.seq_length", "dataset.max_length"});
  if (!length.empty()) f.sequence = s.whole(length, "--seq-length").value_or(0);
  const std::string key = first_key(
      s, {"model.pretrained_model_name_or_path", "model.config.pretrained_model_name_or_path", "model.config"});
  if (!key.empty()) give_named_model(s, f, key, catalogue);
  if (f.sequence == 0 && !key.empty())
    s.require_option(s.at(key), "--seq-length", "no key gives the tokens of a sample");
  if (s.has("peft.dim")) f.give_whole("--lora-rank", s, "peft.dim");
  for (const LaunchSetting& setting : s.all())
    if (setting.key.compare(0, 5, "peft.") == 0 && !f.has("--lora-rank"))
      f.give_default("--lora-rank", "8", "Automodel's default");
  read_lora_target(s, f);
  const bool is_loaded = s.text("model._target_").value_or("").find("from_pretrained") != std::string::npos;
  if (is_loaded && !f.has("--lora-rank")) f.give_default("--task", kAllWeights, "from_pretrained: weights are loaded");
}

// FSDP2 computes in bf16. Without torch_dtype the weights have the checkpoint's type, bf16.
void read_automodel_precision(LaunchSettings& s, Facts& f) {
  if (s.is_on("fp8.enabled", "--precision")) return f.give_from("--precision", "fp8", s, "fp8.enabled");
  const std::string key = first_key(s, {"model.torch_dtype", "model.config.torch_dtype"});
  if (key.empty()) return f.give_default("--precision", "bf16-true", "Automodel's default: the checkpoint's type");
  const std::string type = lower_case(s.text(key, "--precision").value_or("auto"));
  const std::string name = last_part_of(type, '.');
  if (name == "float32" || name == "fp32") return f.give_from("--precision", "bf16", s, key);
  if (name == "bf16" || name == "bfloat16" || name == "auto") return f.give_from("--precision", "bf16-true", s, key);
  s.require_option(s.at(key), "--precision", in_quotes(type) + " is no known precision");
}

void read_automodel_machine(LaunchSettings& s, Facts& f) {
  const auto give = [&](const char* key, void (Facts::*fact)(std::int64_t, const Place&, const std::string&)) {
    const auto value = s.whole(key, "--gpus");
    if (!value) return;
    const LaunchSetting setting = s.at(key);
    (f.*fact)(*value, setting.place, setting.written);
  };
  for (const char* key : {"slurm.nodes", "skypilot.num_nodes"}) give(key, &Facts::give_nodes);
  give("slurm.ntasks_per_node", &Facts::give_gpus_per_node);
  const std::string accelerators = s.text("skypilot.accelerators", "--gpu").value_or("");
  const std::size_t colon = accelerators.find(':');
  if (accelerators.empty()) return;
  if (!f.has("--gpu")) f.give_from("--gpu", accelerators.substr(0, colon), s, "skypilot.accelerators");
  const std::string count = colon == std::string::npos ? "1" : accelerators.substr(colon + 1);
  const bool is_number = is_count(count);
  const LaunchSetting setting = s.at("skypilot.accelerators");
  if (!is_number) fail_at(setting, in_quotes(count) + " is no number of GPUs", "give NAME:NUMBER");
  f.give_gpus_per_node(std::stoll(count), setting.place, setting.written);
}

void read_automodel(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile&) {
  f.give_default("--software", s.is_on("compile.enabled") ? "PyTorch FSDP torch.compile" : "PyTorch FSDP", "Automodel");
  read_automodel_machine(s, f);
  read_automodel_ranks(s, f);
  read_automodel_sharding(s, f);
  read_automodel_model(s, f, catalogue);
  read_automodel_schedule(s, f, catalogue);
  read_automodel_precision(s, f);
  f.micro_batch = s.whole("step_scheduler.local_batch_size", "--micro-batch");
  f.global_batch = s.whole("step_scheduler.global_batch_size", "--global-batch");
  f.iterations = s.whole("step_scheduler.max_steps", "--tokens");
  if (f.number_of("--pipeline", 1) > 1) {
    f.micro_batch = 1;  // the recipe's default
    for (const char* key : {"autopipeline.pp_microbatch_size", "distributed.pipeline.pp_microbatch_size"})
      if (const auto size = s.whole(key, "--micro-batch")) f.micro_batch = size;
  }
  // It calls the kernel of cut cross-entropy (nemo_automodel/components/loss/linear_ce.py).
  const std::string loss = s.text("loss_fn._target_", "--chunked-loss").value_or("");
  if (loss.substr(loss.rfind('.') + 1) == "FusedLinearCrossEntropy")
    f.give_from("--chunked-loss", "", s, "loss_fn._target_");
  const std::string recompute =
      first_key(s, {"distributed.activation_checkpointing", "parallelizer.activation_checkpointing"});
  const std::string kind = recompute.empty() ? "" : lower_case(s.text(recompute, "--recompute").value_or(""));
  const bool is_named = kind == "full" || kind == "selective";
  const bool recomputes = !recompute.empty() && !is_named && s.is_on(recompute, "--recompute");
  f.give_default("--recompute", is_named ? kind : recomputes ? "full" : "none", "activation_checkpointing");
  const std::string optimizer = lower_case(s.text("optimizer._target_", "--optimizer").value_or("torch.optim.Adam"));
  if (optimizer.find("adam") != std::string::npos)
    f.give_default("--optimizer", "adam", "optimizer._target_");
  else
    s.require_option(s.at("optimizer._target_"), "--optimizer", in_quotes(optimizer) + " is not read");
}

const std::vector<UnreadKeys>& automodel_unread() {
  static const std::vector<UnreadKeys> all{
      {Use::no_effect, "data, logs, checkpoints and numbers on which no kernel's time depends",
       "recipe recipe.* seed rng.* dist_env.* benchmark.* step_scheduler.* checkpoint.* dataset.* dataloader.* "
       "validation_* lr_scheduler.* optimizer.* clip_grad_norm.* loss_fn.* wandb.* mlflow.* comet.* logger.* ci.* "
       "model.trust_remote_code model.is_meta_device model._target_ model.config._target_ model.cache_dir tokenizer.* "
       "freeze_config.* processor.* profiling.* nsys.* slurm.* skypilot.* argument job_name distributed._target_ "
       "distributed.dp_size "
       "distributed.timeout_minutes"},
      {Use::not_simulated, "adapters are predicted as two matrices of one rank", "peft.*"},
      {Use::not_simulated, "every batch is predicted as full", "packed_sequence.*"},
      {Use::not_simulated, "predicted as the software's defaults, with overlap and fused kernels",
       "compile.* model.* distributed.* autopipeline.* parallelizer.* fp8.* quantization.* qat.* moe_mesh.* moe.*"},
  };
  return all;
}

}  // namespace

LaunchReader automodel_reader() {
  return {LaunchFormat::automodel, "NeMo Automodel's recipe",
          [](const LaunchSettings& s) {
            return has_any_key(s, {"step_scheduler.local_batch_size", "step_scheduler.global_batch_size"}) &&
                   has_any_key(s, {"model.pretrained_model_name_or_path", "model.config", "model._target_",
                                   "model.config.pretrained_model_name_or_path", "distributed.tp_size",
                                   "distributed.strategy"});
          },
          read_automodel, automodel_unread()};
}

}  // namespace lockstep::sim::launch
