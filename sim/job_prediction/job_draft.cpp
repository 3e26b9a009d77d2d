#include "sim/job_prediction/job_draft.hpp"

#include <algorithm>
#include <set>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/peak_check.hpp"
#include "sim/job_prediction/replica_search.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/quantity/calendar.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// Copies the stack model for another task, which then lists the inputs.
StackModel continue_with(const StackModel& m, QuantityTask& task) {
  return {m.job, m.catalogue, m.options, task, m.gpu, m.stack, m.model, m.precision, m.wire, m.intra_node, m.network};
}

void set_interval_class(const StackModel& m, QuantityTask& task) {
  task.interval_class = interval_class_of(m, task);
  task.constants.insert("bounds/" + task.interval_class.name());
}

void set_samples(double samples, QuantityTask& task) {
  task.quantity = Quantity::samples_time_s;
  task.samples = samples;
}

// Refuses another length of sequences, or other trained weights, than those of MLPerf's benchmark of the model.
void check_benchmark(const StackModel& m) {
  const ReferenceNetwork* const network = m.catalogue.reference_points->network_of_model(m.job.model.id);
  if (network == nullptr || network->sequence == 0) return;
  const bool has_adapters = m.job.split.task == kAdapters;
  if (m.model->tokens == network->sequence && has_adapters == network->adapters) return;
  throw InputError("--mlperf-target: MLPerf's " + network->network + " has sequences of " +
                   std::to_string(network->sequence) + " tokens and trains " +
                   (network->adapters ? "adapters" : "all weights") + "; allowed: --model " + network->model + "@" +
                   std::to_string(network->sequence) + (network->adapters ? " --task lora" : " without --task"));
}

void set_epochs_or_refuse(StackModel& m, QuantityTask& task, bool is_to_target) {
  if (is_to_target && !m.job.is_mlperf())
    throw InputError("--mlperf-target: " + m.stack->name + " has no target; allowed: with --software mlperf");
  if (is_to_target) check_benchmark(m);
  try {
    set_training(m, task);
  } catch (const Unmapped& unmapped) {
    throw InputError(std::string(is_to_target ? "--mlperf-target: " : "--epochs: ") + unmapped.why +
                     "; allowed: --samples instead, of the whole training");
  }
}

// Returns training_over_fastest() with its source.
std::optional<Assumption> over_fastest(const StackModel& m) {
  QuantityTask alone;
  StackModel of_calendar = continue_with(m, alone);
  const std::optional<double> factor = training_over_fastest(of_calendar);
  if (!factor) return std::nullopt;
  const Assumption& constant = alone.assumptions.back();
  return Assumption{constant.pointer, *factor, constant.kind,
                    constant.source + "; published trainings whose split is not known, over the fastest split"};
}

// Returns the task of the job's epochs or samples, with the inputs of its rate; none if it has neither.
std::optional<QuantityTask> training_task(const StackModel& m, const QuantityTask& rate, const JobQuestion& question) {
  const bool has_samples = question.samples > 0 && rate.target.front().scenario.model.tokens == 0;
  if (m.job.epochs <= 0 && !has_samples && !question.trains_to_mlperf_target) return std::nullopt;
  QuantityTask task = rate;
  StackModel of_training = continue_with(m, task);
  if (has_samples)
    set_samples(question.samples, task);
  else
    set_epochs_or_refuse(of_training, task, question.trains_to_mlperf_target);
  set_interval_class(of_training, task);
  return task;
}

// A job with adapters has another default software than the same job without. The text names both.
std::string why_default_software(const JobQuestion& question, const Job& job) {
  GivenSplit whole = job.split;
  whole.task.clear();
  for (const char* key : {"lora_rank", "lora_target", "frozen_weights"}) whole.leave_out(key);
  const bool has_adapters = job.split.task == kAdapters || job.split.has("lora_rank");
  if (const std::string other = usual_software(whole); has_adapters && other != job.software.stated)
    return "usual for adapters; without adapters it is " + other + ", so give --software to compare the two";
  return question.is_split() ? "usual for such a split" : "usual";
}

void list_defaults(const JobQuestion& question, const Job& job, const Catalogue& catalogue, QuantityTask& task) {
  const auto add = [&](const std::string& key, const Json& value, const std::string& reason) {
    task.assumptions.push_back({key, value, "assumed", default_reason(reason)});
    task.defaults.insert(key);
  };
  if (question.job.gpus_per_node == 0)
    add("gpus_per_node", job.gpus_per_node,
        "at most " + std::to_string(joined_gpus_of(question, catalogue)) + ", as is usual of servers");
  if (job.has_carried_rate()) {
    const MeasuredRun& rate = job.measured.back();
    task.assumptions.push_back({"rate", short_number(rate.samples_per_s_per_gpu) + " samples/s", "assumed",
                                short_number(question.rate_samples_per_s) + " samples/s of one " +
                                    catalogue.gpus.with_id(rate.of_gpu)->name +
                                    ", scaled by what is predicted for one GPU of each"});
    task.defaults.insert("rate");
  }
  if (question.fitted_step)
    task.assumptions.push_back({"time_factor", question.fitted_step->time_factor, "measured",
                                "an iteration of " + duration_text(question.fitted_step->given.seconds) + " on " +
                                    gpus_text(question.fitted_step->given.gpus)});
  if (question.job.software.stated.empty()) add("software", job.software.stated, why_default_software(question, job));
}

// Lists given dimensions of the split that the software, by its source code, does not have. Users of PyTorch can write
// such splits themselves, so that they are predicted.
void list_foreign_dimensions(const JobQuestion& question, const Job& job, const Catalogue& catalogue,
                             QuantityTask& task) {
  const StackEntry& software = *catalogue.stacks.with_id(job.software.id);
  for (const ParallelDimension dimension : {ParallelDimension::tensor, ParallelDimension::context,
                                            ParallelDimension::expert, ParallelDimension::pipeline}) {
    const std::string key = name_of(dimension);
    if (!question.job.split.has(key) || software.splits.has(dimension)) continue;
    const Json ranks = parallel_format().write_value(key, question.job.split.values);
    if (ranks == 1) continue;
    task.assumptions.push_back({key, ranks, "assumed",
                                software.name + " has no " + key +
                                    " parallelism; predicted as Megatron-LM has it, with the speed of " +
                                    software.name + "; --software names another"});
    task.defaults.insert(key);
  }
}

Scenario scenario_of(const JobDraft& draft) {
  const JobQuestion& question = draft.question;
  const Workload& workload = draft.samples_per_s.target.front();
  Scenario scenario = workload.scenario;
  scenario.name = scenario.model.title + " on " + scenario.cluster.gpu.name;
  scenario.description = "Made by simulate job, with links, overheads and all-reduce as it has them for " +
                         std::to_string(workload.gpus) + " GPUs.";
  scenario.cluster.name = scenario.cluster.gpu.name + ", " + std::to_string(draft.job.gpus_per_node) + " per node";
  scenario.gpus = question.gpus;
  scenario.baseline_gpus = question.baseline_gpus();
  scenario.batch = question.batches;
  if (scenario.batch.empty()) scenario.batch = {{kMostGpus, workload.batch_per_gpu}};
  if (scenario.parallel) scenario.parallel->data = 0;
  scenario.ignores_memory = question.ignores_memory;
  if (question.fitted_step) scenario.compute.time_factor = question.fitted_step->time_factor;
  if (draft.training)
    scenario.convergence = ConvergenceSpec{training_name(question), draft.training->samples,
                                           question.samples > 0 ? 1 : draft.training->epochs};
  return scenario;
}

bool fits_one_gpu(Scenario scenario, int gpus, int batch) {
  scenario.parallel.reset();
  return gpu_memory(scenario, gpus, batch).fits();
}

// Limits the memory to 80 GiB (A100, H100), so that the default software depends on the model, not on the GPU.
Scenario with_usual_memory(Scenario scenario) {
  constexpr double kUsualBytes = 80 * kGibi;
  scenario.cluster.gpu.memory_bytes = std::min(scenario.cluster.gpu.memory_bytes, kUsualBytes);
  return scenario;
}

// True if a job on sequences of text that gives no split needs a searched one, because its batch per GPU is not given
// or does not fit. A job with a given exchange or measured rate is never searched.
bool needs_split_search(const JobQuestion& q, const Scenario& scenario) {
  if (!q.job.exchange.empty() || q.rate_samples_per_s > 0 || q.has_whole_replicas) return false;
  if (!scenario.model.transformer || scenario.model.tokens == 0 || q.largest() == 1) return false;
  if (q.job.batch_per_gpu == 0) return true;
  return !q.ignores_memory && !fits_one_gpu(scenario, q.largest(), q.job.batch_per_gpu);
}

// True if a model without splits needs sharding or recomputation: without them, not even a batch of one fits.
bool needs_replica_search(const JobQuestion& q, const Workload& workload) {
  const bool is_given = q.has_whole_replicas || !q.job.exchange.empty() || q.rate_samples_per_s > 0;
  if (is_given || q.ignores_memory || q.is_split() || workload.scenario.model.transformer) return false;
  return gpu_memory(workload.scenario, workload.gpus, workload.batch_per_gpu).largest_batch() == 0;
}

// True if plain data parallelism allows all given keys of the split. The model's size then decides the software.
bool leaves_software_open(const GivenSplit& split) {
  static const std::set<std::string> of_any_software{"tensor",       "pipeline",     "context",  "expert",
                                                     "data",         "micro_batch",  "sharding", "recompute",
                                                     "global_batch", "micro_batches"};
  return !split.divides_replicas() && split.values.sharding == ShardingStage::none &&
         std::all_of(split.keys.begin(), split.keys.end(),
                     [](const std::string& key) { return of_any_software.count(key) > 0; });
}

// Returns the question with `is_searched` and `fits_one_gpu` of its split updated; none if neither changes.
std::optional<JobQuestion> opened_question(const JobQuestion& question, const Scenario& scenario) {
  JobQuestion opened = question;
  GivenSplit& split = opened.job.split;
  if (needs_split_search(question, scenario)) split.is_searched = true;
  if (split.is_searched && leaves_software_open(split) && question.job.software.stated.empty() && !split.fits_one_gpu)
    split.fits_one_gpu = fits_one_gpu(with_usual_memory(scenario), question.largest(), 1);
  const GivenSplit& before = question.job.split;
  if (split.is_searched == before.is_searched && split.fits_one_gpu == before.fits_one_gpu) return std::nullopt;
  return opened;
}

void check_precision(const Job& job, const Scenario& scenario) {
  if (job.precision && scenario.compute.precision != layers_precision(*job.precision))
    throw InputError("simulate job: precision " + name_of(*job.precision) + ": " + scenario.cluster.gpu.name +
                     " does not have it; allowed: fp32, and what its data sheet has");
}

// Refuses how tokens reach experts if the model has none.
void check_experts(const GivenSplit& split, const model::Graph& model) {
  if (model.transformer && model.transformer->spec.mixture.count > 0) return;
  for (const char* key : {"expert_dispatch", "expert_overlap", "expert_capacity", "expert_imbalance"})
    if (split.has(key) &&
        parallel_format().write_value(key, split.values) != parallel_format().write_value(key, ParallelSpec()))
      throw InputError(split_option(key) + ": " + "the model has no experts; allowed: with a mixture of experts");
}

// With a split, `--algorithm sharded` means `--sharding zero3`, unless a sharding is given.
void shard_as_algorithm_says(Job& job) {
  const JobAlgorithm* const algorithm = job_algorithm_named(job.exchange);
  if (algorithm == nullptr || algorithm->algorithm != Algorithm::sharded || job.split.has("sharding")) return;
  job.split.give("sharding", "zero3", "--algorithm");
  job.exchange.clear();
}

// The user gave only a part of the split: the rest is searched.
JobQuestion with_searched_rest(JobQuestion question) {
  if (!question.is_split() || question.job.split.is_searched) return question;
  question.job.split.is_searched = true;
  shard_as_algorithm_says(question.job);
  return question;
}

}  // namespace

JobDraft draft_job(const JobQuestion& question, const Catalogue& catalogue) {
  JobDraft draft;
  draft.question = with_searched_rest(question);
  draft.job = resolve_job(draft.question, catalogue);
  try {
    StackOptions options;
    options.needs_room = false;
    options.has_machine = question.has_machine;
    StackModel m{draft.job, catalogue, options, draft.samples_per_s};
    find_entries(m);
    const int gpus = gpus_of(m), batch = batch_of(m);
    draft.samples_per_s.target = {iteration_workload(m, gpus, batch)};
    if (draft.job.split.is_searched) draft.split = split_question(m, draft.samples_per_s.target.front().scenario);
    draft.over_fastest = over_fastest(m);
    draft.efficiency = draft.samples_per_s;
    StackModel of_efficiency = continue_with(m, draft.efficiency);
    set_baseline(of_efficiency, draft.efficiency, Quantity::efficiency, draft.question.baseline_gpus(), false);
    set_interval_class(of_efficiency, draft.efficiency);
    draft.training = training_task(m, draft.samples_per_s, draft.question);
    set_interval_class(m, draft.samples_per_s);
  } catch (const NotSplittable& whole) {
    draft.why_whole = whole.why;
    return draft;
  } catch (const Unmapped& unmapped) {
    throw InputError("simulate job: " + unmapped.why + "; allowed: what simulate job --help says");
  } catch (const InputError& error) {
    throw InputError(std::string("simulate job: ") + error.what());
  }
  for (QuantityTask* task : {&draft.samples_per_s, &draft.efficiency, draft.training ? &*draft.training : nullptr})
    if (task != nullptr) {
      list_defaults(draft.question, draft.job, catalogue, *task);
      if (draft.question.is_split()) list_foreign_dimensions(draft.question, draft.job, catalogue, *task);
    }
  const Scenario& scenario = draft.samples_per_s.target.front().scenario;
  check_precision(draft.job, scenario);
  check_experts(draft.question.job.split, scenario.model);
  if (question.rate_samples_per_s > 0 && question.rate_gpu.empty())
    check_below_peak("--rate " + short_number(question.rate_samples_per_s), scenario, question.rate_samples_per_s);
  draft.scenario = scenario_of(draft);
  return draft;
}

std::optional<JobQuestion> decide_replicas(const JobDraft& draft, const Catalogue& catalogue) {
  const JobQuestion& question = draft.question;
  if (!draft.why_whole.empty()) return choose_whole_replicas(question, draft.why_whole, catalogue);
  if (needs_replica_search(question, draft.samples_per_s.target.front()))
    return choose_whole_replicas(question, "no batch fits", catalogue);
  return opened_question(question, draft.scenario);
}

}  // namespace lockstep::sim::job_prediction
