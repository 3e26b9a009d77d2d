#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/batch_ramp.hpp"

#include <algorithm>

#include "engine/base/log.hpp"
#include "sim/job/job_names.hpp"
#include "sim/job_prediction/job_advice.hpp"
#include "sim/job_prediction/job_draft.hpp"
#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_split.hpp"
#include "sim/job_prediction/measured_step.hpp"
#include "sim/job_prediction/own_scenarios.hpp"
#include "sim/job_prediction/peak_check.hpp"
#include "sim/job_prediction/replica_search.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/quantity/task_memory.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/convergence_read.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

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
  if (!task.target.empty() && !task.interval_class.kinds.empty()) {
    set_work_of_pass(task.target.front(), predicted.job.split.task == kAdapters, task.interval_class);
    task.constants.insert("bounds/" + task.interval_class.name());
  }
  QuantityPrediction prediction;
  prediction.task = std::move(task);
  return prediction;
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

// Like prepare_job(), but throws NoSplitOfJob if no split fits.
JobPrediction prepare(const JobQuestion& asked, const Catalogue& catalogue) {
  const LogTimer timer(LogLevel::info, "made the scenario of " + asked.job.model.stated);
  JobDraft draft = draft_job(asked, catalogue);
  while (const std::optional<JobQuestion> decided = decide_replicas(draft, catalogue))
    draft = draft_job(*decided, catalogue);
  JobPrediction predicted;
  predicted.question = draft.question;
  predicted.job = draft.job;
  predicted.scenario = draft.scenario;
  set_work(predicted, catalogue);
  predicted.split = draft.split;
  predicted.over_fastest = draft.over_fastest;
  QuantityTask whole_training;
  whole_training.interval_class = whole_training_class();
  predicted.of_whole_training = calibration_of(whole_training, catalogue);
  if (predicted.job.split.is_searched) search_splits(predicted);
  if (!draft.samples_per_s.target.front().is_one_gpu())
    for (int gpus : predicted.question.gpus) check(scenario_at(predicted, gpus));
  for (int gpus : predicted.question.gpus) {
    check_loss_is_covered(predicted, gpus);
    JobRow row;
    row.gpus = gpus;
    row.samples_per_s = prediction_at(draft.samples_per_s, predicted, gpus);
    row.samples_per_s.memory = count_task_memory(row.samples_per_s.task);
    row.efficiency = prediction_at(draft.efficiency, predicted, gpus);
    row.efficiency.memory = row.samples_per_s.memory;
    if (draft.training) row.training = prediction_at(*draft.training, predicted, gpus);
    predicted.rows.push_back(std::move(row));
  }
  if (const auto in_node = question_in_node(predicted.question, catalogue); in_node && !predicted.question.is_split()) {
    JobPrediction own = prepare(*in_node, catalogue);
    if (exchange_differs(own, predicted)) add_own_scenario(predicted, std::move(own), predicted.question.gpus);
  }
  if (const auto others = question_of_others(asked, predicted.question))
    add_own_scenario(predicted, prepare(*others, catalogue), asked.gpus);
  return predicted;
}

// Returns the numbers of GPUs on which the job does not fit into memory.
std::vector<RefusedGpus> refused_rows(const JobPrediction& predicted) {
  std::vector<RefusedGpus> refused;
  if (predicted.question.ignores_memory) return refused;
  for (const JobRow& row : predicted.rows)
    if (const std::string why = why_not_in_memory(row.samples_per_s); !why.empty())
      refused.push_back({row.gpus, why, AnswerStatus::does_not_fit});
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
      refused.push_back({gpus, gpus_text(gpus) + ": " + error.what(), AnswerStatus::unmapped});
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
      more.push_back({none.gpus, gpus_text(none.gpus) + ": " + none.why,
                      none.exceeds_memory ? AnswerStatus::does_not_fit : AnswerStatus::unmapped});
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
