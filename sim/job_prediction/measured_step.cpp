#include "sim/job_prediction/measured_step.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/peak_check.hpp"
#include "sim/program/split_space.hpp"
#include "sim/quantity/workload_time.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::job_prediction {
namespace {

constexpr int kMostSearches = 8;       // the split depends on the time factor, and the factor on the split
constexpr double kUnlikelyFactor = 2;  // larger factors, or below its inverse, need another cause
constexpr int kMostSteps = 60;
constexpr double kTimePrecision = 1e-9;

int gpus_of_step(const JobQuestion& question) {
  if (question.step.gpus > 0) return question.step.gpus;
  return *std::min_element(question.gpus.begin(), question.gpus.end());
}

// Returns the measurement's batch. By default it is the job's global batch if the question has `gpus`. Otherwise
// samples per GPU are as on the question's largest number. 0: the job gives no global batch.
std::int64_t batch_of_step(const JobQuestion& question, int gpus) {
  if (question.step.global_batch > 0) return question.step.global_batch;
  const std::int64_t batch = question.job.global_batch, most = question.largest();
  const bool is_asked = std::count(question.gpus.begin(), question.gpus.end(), gpus) > 0;
  if (batch == 0 || is_asked) return batch;
  if (batch * gpus % most != 0)
    throw InputError("--step-time: " + std::to_string(batch) + " samples on " + gpus_text(static_cast<int>(most)) +
                     " do not come out even on the measured " + gpus_text(gpus) + "; allowed: with --step-batch");
  return batch * gpus / most;
}

void set_batch(JobQuestion& measured, std::int64_t batch, int gpus) {
  if (batch == 0) return;
  const bool is_split = measured.is_split();
  const std::int64_t at_once = std::int64_t{gpus} * std::max(1, measured.job.accumulation);
  if (!is_split && batch % at_once != 0)
    throw InputError("--step-batch " + std::to_string(batch) + ": is not divided by " + gpus_text(gpus) +
                     (measured.job.accumulation > 1
                          ? " with " + std::to_string(measured.job.accumulation) + " micro-steps each"
                          : "") +
                     "; allowed: multiples of " + std::to_string(at_once));
  measured.job.batch_per_gpu = is_split ? 0 : static_cast<int>(batch / at_once);
  measured.job.global_batch = is_split ? batch : 0;
  measured.job.accumulation = is_split ? 0 : measured.job.accumulation;
}

// The job whose iteration was measured.
JobQuestion measured_question(const JobQuestion& question) {
  JobQuestion measured;
  measured.job = question.job;
  measured.job.epochs = 0;
  measured.ignores_memory = question.ignores_memory;
  const int gpus = gpus_of_step(question);
  measured.gpus = {gpus};
  set_batch(measured, batch_of_step(question, gpus), gpus);
  const bool has_batch = measured.job.batch_per_gpu > 0 || measured.job.global_batch > 0;
  if (!has_batch && measured.job.accumulation == 0)
    throw InputError(
        "--step-time: the measured batch is not given; allowed: with --step-batch, --global-batch or --batch");
  if (!question.step.gpu.empty()) {
    measured.job.gpu = {question.step.gpu, "", ""};
    measured.job.gpus_per_node = 0;
    measured.job.link = {};
    measured.job.network = {};
  }
  if (!question.step.network.empty()) {
    measured.job.network = {};
    measured.job.network.stated = question.step.network;
  }
  return measured;
}

// Computes the time as predictions do, including intervals.
double iteration_s(Workload workload, double time_factor) {
  workload.scenario.compute.time_factor = time_factor;
  const WorkloadTime time = time_workloads({&workload}, {0, true}).front();
  if (!time.failure.empty()) throw InputError(time.failure);
  return time.seconds;
}

[[noreturn]] void refuse_time(const Workload& workload, double end) {
  throw InputError(duration_text(iteration_s(workload, 1)) + " are predicted, and " +
                   duration_text(iteration_s(workload, end)) + " where all layers take " + short_number(end) +
                   " times as long; allowed: the time of the same job, in seconds, and with --step-network that of its "
                   "network, if the network or the host limits it");
}

// An iteration is nearly proportional to the factor, so secant steps converge. They stay between the two bounds.
double fit_factor(const Workload& workload, double measured_s) {
  double low = kLeastTimeFactor, high = kMostTimeFactor;
  double low_s = iteration_s(workload, low), high_s = iteration_s(workload, high);
  if (measured_s < low_s) refuse_time(workload, low);
  if (measured_s > high_s) refuse_time(workload, high);
  double factor = 1, at_factor_s = iteration_s(workload, factor);
  for (int step = 0; step < kMostSteps && std::abs(at_factor_s - measured_s) > kTimePrecision * measured_s; ++step) {
    (at_factor_s < measured_s ? low : high) = factor;
    (at_factor_s < measured_s ? low_s : high_s) = at_factor_s;
    const double proportional = factor * measured_s / at_factor_s;
    const double by_secant = low + (high - low) * (measured_s - low_s) / (high_s - low_s);
    factor = step == 0 && low < proportional && proportional < high ? proportional : by_secant;
    at_factor_s = iteration_s(workload, factor);
  }
  return factor;
}

// A searched split or replica depends on the factor, and the factor on the split. Both are repeated until the factor no
// longer changes.
FittedStep fit_step(JobQuestion measured, const GivenStep& given, const Catalogue& catalogue) {
  FittedStep fitted;
  fitted.given = given;
  fitted.given.gpus = measured.gpus.front();
  for (int search = 0; search < kMostSearches; ++search) {
    const JobPrediction predicted = prepare_job(measured, catalogue);
    const Workload& workload = predicted.rows.front().samples_per_s.task.target.front();
    const double samples = workload.samples() * workload.accumulation / workload.gpus;
    check_below_peak("an iteration of " + duration_text(given.seconds), workload.scenario, samples / given.seconds,
                     samples);
    const double factor = fit_factor(workload, given.seconds);
    if (search > 0 && factor == fitted.time_factor) break;
    if (!predicted.rankings.empty()) fitted.split = split_text(predicted.rankings.front().best.front().spec);
    fitted.gpu = predicted.job.gpu.id;
    fitted.given.global_batch = static_cast<std::int64_t>(workload.samples() * workload.accumulation);
    fitted.predicted_s = iteration_s(workload, 1);
    fitted.time_factor = factor;
    measured.fitted_step = fitted;
    const bool is_searched = !predicted.rankings.empty() || predicted.question.has_whole_replicas;
    if (!is_searched) break;
  }
  return fitted;
}

}  // namespace

JobQuestion with_fitted_step(JobQuestion question, const Catalogue& catalogue) {
  if (question.step.seconds == 0 || question.fitted_step) return question;
  const JobQuestion measured = measured_question(question);
  try {
    question.fitted_step = fit_step(measured, question.step, catalogue);
  } catch (const InputError& error) {
    const std::string source = question.step.source.empty() ? "--step-time" : question.step.source;
    throw InputError(source + ": the measured job on " + gpus_text(measured.gpus.front()) + ": " + error.what());
  }
  return question;
}

std::string measured_step_text(const JobQuestion& question) {
  if (!question.fitted_step) return "";
  const FittedStep& step = *question.fitted_step;
  std::string text = "Measured: " + duration_text(step.given.seconds) + " an iteration of " +
                     with_thousands(static_cast<double>(step.given.global_batch)) + " samples on " +
                     gpus_text(step.given.gpus) + (step.given.gpu.empty() ? "" : " (" + step.gpu + ")") +
                     (step.split.empty() ? "" : ", " + step.split) + ".\n  " + duration_text(step.predicted_s) +
                     " were predicted; ";
  const std::string factor = "all layers " + formatted("%.3g", step.time_factor) + " times as long as the laws say";
  if (step.computing_s > 0)
    text += "without exposed communication " + duration_text(step.computing_s) + " were measured and " +
            duration_text(step.predicted_computing_s) + " predicted, which agree with " + factor + ".\n";
  else
    text += "with " + factor + ", both agree.\n";
  if (step.time_factor > kUnlikelyFactor || step.time_factor < 1 / kUnlikelyFactor)
    text += "  So far from 1, something else than computing differs: calibrate check --step-time names causes.\n";
  return text;
}

Json measured_step_json(const FittedStep& step) {
  Json json{{"step_s", step.given.seconds},
            {"gpus", step.given.gpus},
            {"gpu", step.gpu},
            {"global_batch", step.given.global_batch},
            {"predicted_step_s", step.predicted_s},
            {"time_factor", step.time_factor}};
  if (step.given.is_batch_assumed) json["global_batch_is_assumed"] = true;
  if (!step.split.empty()) json["split"] = step.split;
  if (step.computing_s > 0) {
    json["computing_s"] = step.computing_s;
    json["predicted_computing_s"] = step.predicted_computing_s;
  }
  return json;
}

}  // namespace lockstep::sim::job_prediction
