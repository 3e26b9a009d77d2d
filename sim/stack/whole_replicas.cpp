#include "sim/stack/whole_replicas.hpp"

#include <set>

#include "sim/job/job_fields.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::stack {
namespace {

constexpr const char* kSharded = "sharded";

// Keys of a split that whole replicas accept, some of them with only one value.
const std::set<std::string>& honoured_keys() {
  static const std::set<std::string> keys{
      "tensor",         "pipeline",  "context",     "expert",       "virtual_stages", "data",          "sharding",
      "sharding_group", "recompute", "micro_batch", "global_batch", "micro_batches",  "sharding_calls"};
  return keys;
}

[[noreturn]] void refuse(const std::string& key, const std::string& why, const std::string& allowed) {
  const std::string option = split_option(key);
  throw InputError((option.empty() ? key : option) + ": " + why + "; allowed: " + allowed);
}

void check_given(const GivenSplit& split, int gpus, const std::string& why) {
  const ParallelSpec& s = split.values;
  for (const auto& [key, ranks] :
       {std::pair("tensor", s.tensor), std::pair("pipeline", s.pipeline), std::pair("context", s.context),
        std::pair("expert", s.expert), std::pair("virtual_stages", s.virtual_stages)})
    if (split.has(key) && ranks > 1) refuse(key, why, "1; --sharding fsdp and --recompute full also save memory");
  if (split.has("data") && s.data != gpus) refuse("data", why, "as many as GPUs");
  if (split.has("sharding_group") && s.sharding_group != gpus) refuse("sharding_group", why, "all GPUs");
  if (s.waits_for_shards()) refuse("sharding_calls", why, "layers");
  for (const std::string& key : split.keys) {
    const bool is_off = parallel_format().write_value(key, s) == parallel_format().write_value(key, ParallelSpec());
    if (honoured_keys().count(key) == 0 && !is_off) refuse(key, why, "without it");
  }
  if (split.task == kAdapters) refuse("lora_rank", why, "without it");
  if (!split.unsupported_offload.empty()) refuse("offload", why, "without it");
  if (split.has("recompute") && s.recompute != Recomputation::none && s.recompute != Recomputation::full)
    refuse("recompute", why, "none or full");
}

// Returns the samples per GPU and iteration; 0: not given.
std::int64_t samples_per_gpu(const Job& job) {
  if (job.global_batch == 0) return job.batch_per_gpu;
  if (job.global_batch % job.gpus != 0)
    throw InputError("--global-batch " + std::to_string(job.global_batch) + ": is not divided by " +
                     std::to_string(job.gpus) + " GPUs, each of which holds the whole model; allowed: multiples of " +
                     std::to_string(job.gpus));
  if (job.global_batch / job.gpus > kLargestGlobalBatch)
    throw InputError("--global-batch " + std::to_string(job.global_batch) + ": allowed: up to " +
                     std::to_string(kLargestGlobalBatch) + " samples per GPU");
  return job.global_batch / job.gpus;
}

void set_batch(Job& job) {
  const std::int64_t samples = samples_per_gpu(job);
  const int micro_batch = job.split.has("micro_batch") ? job.split.values.micro_batch : 0;
  const bool is_of_micro_step = job.global_batch == 0 && micro_batch == 0;  // if so, --batch is that of a micro-step
  job.global_batch = 0;
  if (samples == 0) job.batch_per_gpu = micro_batch;
  if (samples == 0 || is_of_micro_step) return;
  if (micro_batch > 0 && job.accumulation > 0 && samples != std::int64_t{micro_batch} * job.accumulation)
    throw InputError("--accumulation " + std::to_string(job.accumulation) + ": with --micro-batch " +
                     std::to_string(micro_batch) + " a GPU has other than its " + std::to_string(samples) +
                     " samples; allowed: one of the two");
  const std::int64_t steps = micro_batch > 0 ? samples / micro_batch : std::max(1, job.accumulation);
  if (micro_batch > 0 && samples % micro_batch != 0)
    refuse("micro_batch",
           std::to_string(micro_batch) + " does not divide the " + std::to_string(samples) + " samples of a GPU",
           "divisors of it");
  if (samples % steps != 0)
    throw InputError("--accumulation: " + std::to_string(steps) + " micro-steps do not divide the " +
                     std::to_string(samples) + " samples of a GPU; allowed: divisors of it");
  job.accumulation = static_cast<int>(steps);
  job.batch_per_gpu = static_cast<int>(samples / steps);
}

}  // namespace

Job as_whole_replicas(Job job, const std::string& why) {
  check_given(job.split, job.gpus, why);
  set_batch(job);
  const GivenSplit& split = job.split;
  const ShardingStage sharding = split.has("sharding") ? split.values.sharding : ShardingStage::none;
  const bool is_given = !job.exchange.empty() && split.has("sharding");
  if (is_given && (job.exchange == kSharded) != (sharding != ShardingStage::none))
    throw InputError("--algorithm " + job.exchange + ": --sharding " + name_of(sharding) +
                     " says otherwise; allowed: one of the two");
  if (sharding != ShardingStage::none) {
    job.exchange = kSharded;
    job.keeps_gathered_weights = sharding != ShardingStage::zero3;
    job.keeps_gradients = sharding == ShardingStage::zero1;
  }
  job.recomputes_blocks = split.has("recompute") && split.values.recompute == Recomputation::full;
  job.split = {};
  return job;
}

}  // namespace lockstep::sim::stack
