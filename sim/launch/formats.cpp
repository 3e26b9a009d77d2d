#include "sim/launch/formats.hpp"

#include "sim/launch/deepspeed.hpp"
#include "sim/launch/deepspeed_conflicts.hpp"
#include "sim/launch/huggingface.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/named_config.hpp"
#include "sim/launch/other_configs.hpp"
#include "sim/launch/pretraining_configs.hpp"

namespace lockstep::sim::launch {
namespace {

// Megatron-LM's own tests write "MODEL_ARGS: {--num-layers: 12, ...}".
constexpr const char* kArgumentSections[] = {"MODEL_ARGS.--", "MODEL_ARGS."};

bool has_argument_section(const LaunchSettings& s) {
  return has_any_key(s, {"MODEL_ARGS.--num-layers", "MODEL_ARGS.--micro-batch-size", "MODEL_ARGS.--global-batch-size",
                         "MODEL_ARGS.--seq-length"});
}

void rename_argument_section(LaunchSettings& s) {
  for (const char* section : kArgumentSections) s.strip_prefix(section);
  s.replace_prefix("ENV_VARS.", "env.");
  s.replace_hyphens();
}

// Sections of Megatron-LM's --yaml-cfg (megatron/training/yaml_arguments.py).
void rename_yaml_sections(LaunchSettings& s) {
  for (const char* section : {"language_model.", "model_parallel."}) s.strip_prefix(section);
  if (lower_case(s.text("activation_func", "--model").value_or("")) == "swiglu")
    s.replace_key("activation_func", "swiglu", true);
}

// With bf16, without ZeRO and in its pipeline engine, DeepSpeed's BF16_Optimizer divides the optimizer's state over the
// replicas (deepspeed/runtime/engine.py, bf16_optimizer.py). Megatron-DeepSpeed uses that engine unless --no-pipeline-
// parallel is given.
void give_sharding_of_bf16(LaunchSettings& s, Facts& f) {
  const bool is_none = !f.has("--sharding") || f.value_of("--sharding") == "none";
  if (f.value_of("--precision") != "bf16" || !is_none || s.has("no_pipeline_parallel") || s.needs_option("--sharding"))
    return;
  f.drop("--sharding");
  f.give_default("--sharding", "zero1", "DeepSpeed's BF16_Optimizer");
  f.notes.push_back("bf16 without ZeRO: DeepSpeed's BF16_Optimizer divides the optimizer's state, as ZeRO 1 does");
}

void read_megatron_arguments(LaunchSettings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  if (has_argument_section(s)) rename_argument_section(s);
  const bool is_yaml = s.has("language_model.num_layers");
  if (is_yaml) rename_yaml_sections(s);
  const bool is_deepspeed = s.has("deepspeed") || s.has("deepspeed_config");
  if (is_deepspeed) {
    const LaunchSetting* setting = s.take(s.has("deepspeed") ? "deepspeed" : "deepspeed_config");
    if (setting != nullptr) f.give("--software", "Megatron-DeepSpeed", setting->place, setting->written);
    if (const auto stage = s.whole("zero_stage", "--sharding")) {
      const LaunchSetting* zero = s.take("zero_stage");
      f.give("--sharding", *stage == 0 ? "none" : "zero" + std::to_string(*stage), zero->place, zero->written);
    }
    append_named_file(s, "deepspeed_config", "", read_named, f.has("--sharding") ? "" : "--sharding");
  } else {
    f.give_default("--software", "Megatron-LM", "its arguments");
  }
  read_megatron(s, f, catalogue, is_yaml ? MegatronKeys::configuration : MegatronKeys::arguments);
  if (is_deepspeed) {
    read_deepspeed(s, f);
    refuse_conflicting_precisions(s);
    refuse_conflicting_batches(s, f);
  }
  if (is_deepspeed) give_sharding_of_bf16(s, f);
  if (!f.has("--sharding") && !s.needs_option("--sharding"))
    f.give_default("--sharding", "none", "no sharding is given");
  if (!f.has("--recompute")) f.give_default("--recompute", "none", "no recomputation is given");
}

void read_deepspeed_file(LaunchSettings& s, Facts& f, const Catalogue&, const ReadNamedFile&) {
  f.give_default("--software", "DeepSpeed", "its configuration");
  read_deepspeed(s, f);
  refuse_conflicting_precisions(s);
  refuse_conflicting_batches(s, f);
}

}  // namespace

const std::vector<LaunchReader>& launch_readers() {
  static const std::vector<LaunchReader> all = [] {
    std::vector<LaunchReader> readers{
        {LaunchFormat::megatron, "Megatron-LM arguments",
         [](const LaunchSettings& s) {
           if (has_argument_section(s) || s.has("language_model.num_layers")) return true;
           if (has_any_key(s, {"modules.pre_trainer.framework", "modules.post_trainer.framework",
                               "modules.sft_trainer.framework"}))
             return false;
           return has_any_key(s, {"tensor_model_parallel_size", "micro_batch_size", "pipeline_model_parallel_size"}) &&
                  has_any_key(s, {"num_layers", "seq_length", "train_iters", "train_samples", "global_batch_size"});
         },
         read_megatron_arguments, both_tables(megatron_unread(), deepspeed_unread())},
        {LaunchFormat::deepspeed, "DeepSpeed's configuration",
         [](const LaunchSettings& s) {
           if (has_any_key(s, {"pipe_parallel_size", "pipe-parallel-size", "num_layers", "num-layers"})) return false;
           return has_any_key(s, {"zero_optimization.stage", "train_micro_batch_size_per_gpu"}) ||
                  (s.has("train_batch_size") && has_any_key(s, {"optimizer.type", "fp16.enabled", "bf16.enabled"}));
         },
         read_deepspeed_file, deepspeed_unread()},
    };
    for (const auto& more : {huggingface_readers(), pretraining_readers(), other_readers()})
      readers.insert(readers.end(), more.begin(), more.end());
    return readers;
  }();
  return all;
}

const LaunchReader& reader_of(LaunchFormat format) {
  for (const LaunchReader& reader : launch_readers())
    if (reader.format == format) return reader;
  throw std::logic_error("a format without a reader");
}

}  // namespace lockstep::sim::launch
