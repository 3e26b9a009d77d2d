#include "sim/quantity/closed_split.hpp"

#include <algorithm>

#include "sim/job/job_fields.hpp"
#include "sim/job/job_names.hpp"
#include "sim/point/best_splits.hpp"
#include "sim/quantity/least_recomputation.hpp"

namespace lockstep::sim::quantity {
namespace {

const std::vector<const char*> kRanks{"tensor", "context", "expert", "pipeline"};

bool gives_ranks(const GivenSplit& split) {
  return split.has("data") || split.has("sharding") ||
         std::any_of(kRanks.begin(), kRanks.end(), [&](const char* key) { return split.has(key); });
}

bool is_complete(const GivenSplit& split) {
  const bool has_stages = !split.has("pipeline") || split.values.pipeline == 1 || split.has("virtual_stages");
  return split.has("micro_batch") && has_stages && split.has("recompute") && split.has("sharding");
}

// The scenario of the job with a searched split, and the keys that its software can vary.
struct OpenSplit {
  Scenario scenario;
  SplitQuestion question;
  int gpus = 1;
};

OpenSplit open_split(const Job& given, const Catalogue& catalogue) {
  Job job = given;
  job.split.is_searched = true;
  if (job.defaulted.count("software") > 0 && !gives_ranks(job.split))
    set_software(job, usual_software(job.split), catalogue);
  StackOptions options;
  options.needs_room = false;
  Inputs inputs;
  StackModel m{job, catalogue, options, inputs};
  find_entries(m);
  OpenSplit open;
  open.gpus = gpus_of(m);
  if (m.model->tokens == 0) throw Unmapped{"no sequences"};
  open.scenario = iteration_workload(m, open.gpus, batch_of(m)).scenario;
  open.scenario.ignores_memory = false;
  open.question = split_question(m, open.scenario);
  if (gives_ranks(given.split)) {
    for (const char* key : kRanks) open.question.fixed.insert(key);
    open.question.fixed.insert("expert_overlap");
    open.question.fixed.insert("expert_dispatch");
  }
  return open;
}

const std::set<std::string> kChosen{"micro_batch", "virtual_stages", "schedule", "sharding", "recompute", "sequence"};
// Keys that are listed only if they differ from the default.
const std::set<std::string> kUnusual{"tensor",          "context",           "expert",
                                     "expert_tensor",   "pipeline",          "expert_overlap",
                                     "expert_dispatch", "recompute_modules", "sharding_group"};

void give_split(const ParallelSpec& spec, const SplitQuestion& question, Job& job) {
  GivenSplit& split = job.split;
  const ParallelSpec before = split.values;
  split.values = spec;
  split.values.data = before.data;
  split.values.lora_rank = before.lora_rank;
  split.values.global_batch = before.global_batch;
  for (const SplitFieldName& field : split_fields()) {
    const bool is_usual =
        parallel_format().write_value(field.key, spec) == parallel_format().write_value(field.key, ParallelSpec());
    if (kChosen.count(field.key) == 0 && (kUnusual.count(field.key) == 0 || is_usual)) continue;
    if (!split.keys.insert(field.key).second) continue;
    job.record_default(chosen_key(field.key),
                       question.is_fixed(field.key) ? "by software" : "of the fastest split that fits");
  }
}

void close_given(Job& job, const Catalogue& catalogue) {
  const bool is_given = is_split(job);
  if (!job.exchange.empty() || (job.global_batch == 0 && is_given)) return;
  if (is_given ? is_complete(job.split) : job.batch_per_gpu > 0) return;
  try {
    const OpenSplit open = open_split(job, catalogue);
    if (!is_given) {
      Scenario whole = open.scenario;
      whole.parallel.reset();
      if (open.gpus == 1 || gpu_memory(whole, open.gpus, job.batch()).fits()) return;
    }
    const ParallelSpec spec = best_splits(open.scenario, open.gpus, open.question, 1).best.front().spec;
    give_split(spec, open.question, job);
    if (job.global_batch == 0) {
      job.global_batch = spec.global_batch;
      job.record_default("global_batch", "usual of so many GPUs");
    }
    if (!is_given && job.defaulted.count("software") > 0) set_software(job, usual_software(job.split), catalogue);
  } catch (const Unmapped&) {    // reported by the prediction
  } catch (const InputError&) {  // the same, or no split fits
  }
}

}  // namespace

void close_split(Job& job, const Catalogue& catalogue) {
  close_given(job, catalogue);
  add_least_recomputation(job, catalogue);
}

}  // namespace lockstep::sim::quantity
