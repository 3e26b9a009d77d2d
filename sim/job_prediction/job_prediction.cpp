#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/batch_ramp.hpp"

#include <algorithm>

#include "engine/base/log.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/job_advice.hpp"
#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_split.hpp"
#include "sim/job_prediction/measured_step.hpp"
#include "sim/job_prediction/node_exchange.hpp"
#include "sim/job_prediction/peak_check.hpp"
#include "sim/job_prediction/replica_search.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/quantity/task_memory.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/convergence_read.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

// The tasks that predict a job on its largest number of GPUs.
struct Tasks {
  QuantityTask samples_per_s, efficiency;
  std::optional<QuantityTask> training;
  SplitQuestion split;                          // used if the split is searched
  std::optional<Assumption> over_fastest = {};  // factor on the calendar time
};

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

Tasks make_tasks(const JobQuestion& question, const Job& job, const Catalogue& catalogue) {
  StackOptions options;
  options.needs_room = false;
  options.has_machine = question.has_machine;
  Tasks tasks;
  StackModel m{job, catalogue, options, tasks.samples_per_s};
  find_entries(m);
  const int gpus = gpus_of(m), batch = batch_of(m);
  tasks.samples_per_s.target = {iteration_workload(m, gpus, batch)};
  if (job.split.is_searched) tasks.split = split_question(m, tasks.samples_per_s.target.front().scenario);
  tasks.over_fastest = over_fastest(m);
  tasks.efficiency = tasks.samples_per_s;
  StackModel of_efficiency = continue_with(m, tasks.efficiency);
  set_baseline(of_efficiency, tasks.efficiency, Quantity::efficiency, question.baseline_gpus(), false);
  set_interval_class(of_efficiency, tasks.efficiency);
  const bool has_samples = question.samples > 0 && tasks.samples_per_s.target.front().scenario.model.tokens == 0;
  if (job.epochs > 0 || has_samples || question.trains_to_mlperf_target) {
    tasks.training = tasks.samples_per_s;
    StackModel of_training = continue_with(m, *tasks.training);
    if (has_samples)
      set_samples(question.samples, *tasks.training);
    else
      set_epochs_or_refuse(of_training, *tasks.training, question.trains_to_mlperf_target);
    set_interval_class(of_training, *tasks.training);
  }
  set_interval_class(m, tasks.samples_per_s);
  return tasks;
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
  if (question.job.software.stated.empty())
    add("software", job.software.stated, question.is_split() ? "usual for such a split" : "usual");
}

Scenario scenario_of(const JobQuestion& question, const Job& job, const Tasks& tasks) {
  const Workload& workload = tasks.samples_per_s.target.front();
  Scenario scenario = workload.scenario;
  scenario.name = scenario.model.title + " on " + scenario.cluster.gpu.name;
  scenario.description = "Made by simulate job, with links, overheads and all-reduce as it has them for " +
                         std::to_string(workload.gpus) + " GPUs.";
  scenario.cluster.name = scenario.cluster.gpu.name + ", " + std::to_string(job.gpus_per_node) + " per node";
  scenario.gpus = question.gpus;
  scenario.baseline_gpus = question.baseline_gpus();
  scenario.batch = question.batches;
  if (scenario.batch.empty()) scenario.batch = {{kMostGpus, workload.batch_per_gpu}};
  if (scenario.parallel) scenario.parallel->data = 0;
  scenario.ignores_memory = question.ignores_memory;
  if (question.fitted_step) scenario.compute.time_factor = question.fitted_step->time_factor;
  if (tasks.training)
    scenario.convergence = ConvergenceSpec{training_name(question), tasks.training->samples,
                                           question.samples > 0 ? 1 : tasks.training->epochs};
  return scenario;
}

// Makes the prediction's task on `gpus` GPUs. If splits are searched, it has the split found for that number.
QuantityPrediction prediction_at(QuantityTask task, const JobPrediction& predicted, int gpus) {
  const auto move_to = [&](Alternatives& runs, int to_gpus) {
    if (runs.empty()) return;
    runs.resize(1);
    runs.front().scenario = scenario_at(predicted, to_gpus);
    runs.front().gpus = to_gpus;
    runs.front().batch_per_gpu = runs.front().scenario.batch_at(to_gpus);
    runs.front().label = to_gpus;
  };
  if (!task.baseline.empty()) task.baseline = task.target;
  move_to(task.target, gpus);
  move_to(task.baseline, predicted.scenario.baseline_gpus);
  QuantityPrediction prediction;
  prediction.task = std::move(task);
  return prediction;
}

bool fits_one_gpu(Scenario scenario, int gpus, int batch) {
  scenario.parallel.reset();
  return gpu_memory(scenario, gpus, batch).fits();
}

// Limits the memory to 80 GiB (A100, H100), so that the default software depends on the model, not on the GPU.
Scenario with_usual_memory(Scenario scenario) {
  constexpr double kUsualBytes = 80.0 * 1024 * 1024 * 1024;
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

// Returns the question with `is_searched` and `fits_one_gpu` of its split updated; none if neither changes.
std::optional<JobQuestion> opened_question(const JobQuestion& question, const Scenario& scenario) {
  JobQuestion opened = question;
  GivenSplit& split = opened.job.split;
  if (needs_split_search(question, scenario)) split.is_searched = true;
  if (split.is_searched && split.keys.empty() && question.job.software.stated.empty() && !split.fits_one_gpu)
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

void check_simulated(const JobQuestion& question, const std::vector<QuantityPrediction*>& predictions) {
  for (const QuantityPrediction* p : predictions)
    if (!p->is_mapped())
      throw InputError("simulate job: " + question.job.model.stated + " on " + question.job.gpu.stated + ": " +
                       p->task.unmapped + "; allowed: another --algorithm");
}

// Converts --flops to tokens, and makes a given loss the scenario's target.
void set_work(JobPrediction& predicted, const Catalogue& catalogue) {
  JobQuestion& question = predicted.question;
  Scenario& scenario = predicted.scenario;
  predicted.loss = job_loss_of(question, predicted.job, scenario, catalogue);
  if ((question.tokens > 0 || question.flops > 0) && scenario.model.tokens == 0)
    throw InputError(std::string(question.tokens > 0 ? "--tokens: " : "--flops: ") + scenario.model.title +
                     " does not train on tokens; allowed: --samples");
  if (!question.batch_ramp.empty() && scenario.model.tokens == 0)
    throw InputError("--batch-ramp: " + scenario.model.title + " does not train on tokens; allowed: models that do");
  question.derives_tokens = (question.samples > 0 && scenario.model.tokens > 0) || question.flops > 0;
  if (question.derives_tokens)
    question.tokens =
        question.flops > 0 ? tokens_of_flops(scenario.model, question.flops) : question.samples * scenario.model.tokens;
  if (question.loss == 0) return;
  if (!predicted.loss) throw InputError("--loss: " + why_no_loss(predicted.job, scenario));
  const auto profile = std::make_shared<const ConvergenceProfile>(
      profile_to_loss(predicted.loss->law, predicted.loss->model, question.loss));
  scenario.convergence = ConvergenceSpec{loss_target_name(question.loss), profile->train_samples, 0, {}, profile};
}

void check_loss_is_covered(const JobPrediction& predicted, int gpus) {
  if (predicted.question.loss == 0) return;
  const Scenario scenario = scenario_at(predicted, gpus);
  const auto why = why_not_covered(*scenario.convergence->profile, 0, training_setting(scenario, gpus));
  if (why) throw InputError("--loss: " + scenario.convergence->profile->name + ": " + *why);
}

// With a split, `--algorithm sharded` means `--sharding zero3`, unless a sharding is given.
void shard_as_algorithm_says(Job& job) {
  const JobAlgorithm* const algorithm = job_algorithm_named(job.exchange);
  if (algorithm == nullptr || algorithm->algorithm != Algorithm::sharded || job.split.has("sharding")) return;
  job.split.give("sharding", "zero3", "--algorithm");
  job.exchange.clear();
}

// Like prepare_job(), but throws NoSplitOfJob if no split fits.
JobPrediction prepare(const JobQuestion& question, const Catalogue& catalogue) {
  const LogTimer timer(LogLevel::info, "made the scenario of " + question.job.model.stated);
  if (question.is_split() &&
      !question.job.split.is_searched) {  // the user gave only a part of the split: search the rest
    JobQuestion searched = question;
    searched.job.split.is_searched = true;
    shard_as_algorithm_says(searched.job);
    return prepare(searched, catalogue);
  }
  JobPrediction predicted;
  predicted.question = question;
  predicted.job = resolve_job(question, catalogue);
  Tasks tasks;
  try {
    tasks = make_tasks(question, predicted.job, catalogue);
  } catch (const NotSplittable& whole) {
    return prepare(with_whole_replicas(question, whole.why, catalogue), catalogue);
  } catch (const Unmapped& unmapped) {
    throw InputError("simulate job: " + unmapped.why + "; allowed: what simulate job --help says");
  } catch (const InputError& error) {
    throw InputError(std::string("simulate job: ") + error.what());
  }
  for (QuantityTask* task : {&tasks.samples_per_s, &tasks.efficiency, tasks.training ? &*tasks.training : nullptr})
    if (task != nullptr) list_defaults(question, predicted.job, catalogue, *task);
  const Workload& workload = tasks.samples_per_s.target.front();
  check_precision(predicted.job, workload.scenario);
  if (question.rate_samples_per_s > 0 && question.rate_gpu.empty())
    check_below_peak("--rate " + short_number(question.rate_samples_per_s), workload.scenario,
                     question.rate_samples_per_s);
  predicted.scenario = scenario_of(question, predicted.job, tasks);
  if (needs_replica_search(question, workload))
    return prepare(with_whole_replicas(question, "no batch fits", catalogue), catalogue);
  if (const std::optional<JobQuestion> opened = opened_question(question, predicted.scenario))
    return prepare(*opened, catalogue);
  set_work(predicted, catalogue);
  predicted.split = tasks.split;
  predicted.over_fastest = tasks.over_fastest;
  QuantityTask whole_training;
  whole_training.interval_class = whole_training_class();
  predicted.of_whole_training = calibration_of(whole_training, catalogue);
  if (predicted.job.split.is_searched) search_splits(predicted);
  if (!workload.is_one_gpu())
    for (int gpus : question.gpus) check(scenario_at(predicted, gpus));
  for (int gpus : question.gpus) {
    check_loss_is_covered(predicted, gpus);
    JobRow row;
    row.gpus = gpus;
    row.samples_per_s = prediction_at(tasks.samples_per_s, predicted, gpus);
    row.samples_per_s.memory = count_task_memory(row.samples_per_s.task);
    row.efficiency = prediction_at(tasks.efficiency, predicted, gpus);
    row.efficiency.memory = row.samples_per_s.memory;
    if (tasks.training) row.training = prediction_at(*tasks.training, predicted, gpus);
    predicted.rows.push_back(std::move(row));
  }
  if (const auto in_node = question_in_node(question, catalogue); in_node && !question.is_split()) {
    JobPrediction own = prepare(*in_node, catalogue);
    if (exchange_differs(own, predicted)) replace_rows_in_node(predicted, std::move(own));
  }
  return predicted;
}

// Returns the numbers of GPUs on which the job does not fit into memory.
std::vector<RefusedGpus> refused_rows(const JobPrediction& predicted) {
  std::vector<RefusedGpus> refused;
  if (predicted.question.ignores_memory) return refused;
  for (const JobRow& row : predicted.rows)
    if (const std::string why = why_not_in_memory(row.samples_per_s); !why.empty())
      refused.push_back({row.gpus, why, kDoesNotFit});
  return refused;
}

// Tries each number of GPUs alone, and returns those that cannot run the job, with the reason. Empty if none can.
std::vector<RefusedGpus> unmapped_gpus(const JobQuestion& question, const Catalogue& catalogue) {
  std::vector<RefusedGpus> refused;
  for (const int gpus : question.gpus) {
    JobQuestion alone = question;
    alone.gpus = {gpus};
    try {
      (void)prepare(alone, catalogue);
    } catch (const NoSplitOfJob&) {  // prepare_fitting() handles it
    } catch (const InputError& error) {
      refused.push_back({gpus, gpus_text(gpus) + ": " + error.what(), kUnmapped});
    }
  }
  if (refused.size() == question.gpus.size()) refused.clear();
  return refused;
}

// Returns the job on those requested numbers of GPUs that can run it; none if none can.
std::optional<JobPrediction> prepare_fitting(const JobQuestion& asked, const Catalogue& catalogue) {
  JobQuestion question = with_fitted_step(with_gpus_of_nodes(asked, catalogue), catalogue);
  std::vector<RefusedGpus> refused;
  while (!question.gpus.empty()) {
    std::vector<RefusedGpus> more;
    try {
      JobPrediction predicted = prepare(question, catalogue);
      more = refused_rows(predicted);
      if (more.empty()) {
        predicted.refused = std::move(refused);
        return predicted;
      }
    } catch (const NoSplitOfJob& none) {
      more.push_back(
          {none.gpus, gpus_text(none.gpus) + ": " + none.why, none.exceeds_memory ? kDoesNotFit : kUnmapped});
    } catch (const InputError&) {
      more = unmapped_gpus(question, catalogue);
      if (more.empty()) throw;
    }
    for (const RefusedGpus& one : more)
      question.gpus.erase(std::remove(question.gpus.begin(), question.gpus.end(), one.gpus), question.gpus.end());
    refused.insert(refused.end(), more.begin(), more.end());
  }
  return std::nullopt;
}

void check_memory(const JobPrediction& predicted) {
  if (predicted.question.ignores_memory) return;
  for (const QuantityTask* task : predicted.tasks()) check_task_memory(*task);
}

bool fits(const JobQuestion& question, const Catalogue& catalogue) {
  try {
    check_memory(prepare(question, catalogue));
    return true;
  } catch (const NoSplitOfJob&) {
    return false;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

const JobRow& JobPrediction::largest() const {
  return *std::max_element(rows.begin(), rows.end(), [](const JobRow& a, const JobRow& b) { return a.gpus < b.gpus; });
}

std::vector<const QuantityTask*> JobPrediction::tasks() const {
  std::vector<const QuantityTask*> all;
  for (const JobRow& row : rows) {
    all.insert(all.end(), {&row.samples_per_s.task, &row.efficiency.task});
    if (row.training) all.push_back(&row.training->task);
  }
  return all;
}

Inputs merge_inputs(const std::vector<const QuantityTask*>& tasks) {
  Inputs merged;
  for (const QuantityTask* task : tasks) {
    merged.defaults.insert(task->defaults.begin(), task->defaults.end());
    for (const Assumption& a : task->assumptions) {
      const auto is_same = [&](const Assumption& b) { return b.pointer == a.pointer && b.value == a.value; };
      if (std::none_of(merged.assumptions.begin(), merged.assumptions.end(), is_same)) merged.assumptions.push_back(a);
    }
  }
  return merged;
}

JobPrediction prepare_job(const JobQuestion& asked, const Catalogue& catalogue) {
  const JobQuestion question = with_fitted_step(with_gpus_of_nodes(asked, catalogue), catalogue);
  try {
    return prepare(question, catalogue);
  } catch (const NoSplitOfJob& none) {
    const auto has_answer = [&](const JobQuestion& changed) { return fits(changed, catalogue); };
    const std::string why = "simulate job: " + none.why +
                            "; allowed: " + changes_that_fit(question, none.gpus, none.exceeds_memory, has_answer);
    if (none.exceeds_memory) throw NotEnoughMemory(why);
    throw InputError(why);
  }
}

JobPrediction predict_job(const JobQuestion& question, const Catalogue& catalogue, int jobs, JitterCache* jitter) {
  std::optional<JobPrediction> fitting = prepare_fitting(question, catalogue);
  if (!fitting) check_memory(prepare_job(question, catalogue));  // throws an error that suggests what would fit
  JobPrediction predicted = fitting ? *std::move(fitting) : prepare_job(question, catalogue);
  std::vector<QuantityPrediction*> predictions;
  for (JobRow& row : predicted.rows) {
    predictions.insert(predictions.end(), {&row.samples_per_s, &row.efficiency});
    if (row.training) predictions.push_back(&*row.training);
  }
  predict_quantities(predictions, catalogue, {jobs, true, jitter});
  check_simulated(question, predictions);
  time_batch_ramp(predicted, {jobs, false, jitter});
  return predicted;
}

}  // namespace lockstep::sim::job_prediction
