#include "sim/launch/formats.hpp"

#include "sim/launch/deepspeed.hpp"
#include "sim/launch/megatron.hpp"
#include "sim/launch/tree.hpp"

namespace lockstep::sim::launch {
namespace {

std::vector<UnreadKeys> both(const std::vector<UnreadKeys>& a, const std::vector<UnreadKeys>& b) {
  std::vector<UnreadKeys> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

bool has_any(const Settings& settings, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (settings.has(key)) return true;
  return false;
}

// The configuration that a script names, behind its settings.
void add_deepspeed_file(Settings& s, const std::string& key, const ReadNamedFile& read_named) {
  const auto name = s.text(key);
  if (!name) return;
  const Setting setting = *s.take(key);
  s.append(read_tree(read_named(setting, *name), *name, TreeSyntax::json));
}

void read_megatron_arguments(Settings& s, Facts& f, const Catalogue& catalogue, const ReadNamedFile& read_named) {
  const bool is_deepspeed = s.has("deepspeed") || s.has("deepspeed_config");
  if (is_deepspeed) {
    const Setting* setting = s.take(s.has("deepspeed") ? "deepspeed" : "deepspeed_config");
    if (setting != nullptr) f.give("--software", "Megatron-DeepSpeed", setting->place, setting->written);
    if (const auto stage = s.whole("zero_stage", "--sharding")) {
      const Setting* zero = s.take("zero_stage");
      f.give("--sharding", *stage == 0 ? "none" : "zero" + std::to_string(*stage), zero->place, zero->written);
    }
    add_deepspeed_file(s, "deepspeed_config", read_named);
  } else {
    f.give("--software", "Megatron-LM", {}, "its arguments");
  }
  read_megatron(s, f, catalogue, MegatronKeys::arguments);
  if (is_deepspeed) read_deepspeed(s, f);
  if (!f.has("--sharding")) f.give("--sharding", "none", {}, "no sharding is given");
  if (!f.has("--recompute")) f.give("--recompute", "none", {}, "no recomputation is given");
}

void read_deepspeed_file(Settings& s, Facts& f, const Catalogue&, const ReadNamedFile&) {
  f.give("--software", "DeepSpeed", {}, "its configuration");
  read_deepspeed(s, f);
}

}  // namespace

const std::vector<LaunchReader>& launch_readers() {
  static const std::vector<LaunchReader> all{
      {LaunchFormat::megatron, "Megatron-LM arguments",
       [](const Settings& s) {
         return has_any(s, {"tensor_model_parallel_size", "micro_batch_size", "pipeline_model_parallel_size"}) &&
                has_any(s, {"num_layers", "seq_length", "train_iters", "train_samples", "global_batch_size"});
       },
       read_megatron_arguments, both(megatron_unread(), deepspeed_unread())},
      {LaunchFormat::deepspeed, "DeepSpeed's configuration",
       [](const Settings& s) {
         return has_any(s, {"zero_optimization.stage", "train_micro_batch_size_per_gpu"}) ||
                (s.has("train_batch_size") && has_any(s, {"optimizer.type", "fp16.enabled", "bf16.enabled"}));
       },
       read_deepspeed_file, deepspeed_unread()},
  };
  return all;
}

const LaunchReader& reader_of(LaunchFormat format) {
  for (const LaunchReader& reader : launch_readers())
    if (reader.format == format) return reader;
  throw std::logic_error("a format without a reader");
}

}  // namespace lockstep::sim::launch
