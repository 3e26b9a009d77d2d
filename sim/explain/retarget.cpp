#include "sim/explain/retarget.hpp"

#include <numeric>

#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/text.hpp"
#include "sim/explain/check_command.hpp"
#include "sim/explain/predicted_times.hpp"
#include "sim/job/gpu_name.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim::explain {
namespace {

using IsGiven = std::function<bool(const std::string&)>;

bool is_same_gpu(const std::string& a, const std::string& b, const Catalogue& catalogue) {
  const GpuEntry* const first = read_gpu_name(catalogue.gpus, a).entry;
  return a == b || (first != nullptr && first == read_gpu_name(catalogue.gpus, b).entry);
}

double computing_s(const calib::PartSeconds& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0) - part_of(parts, calib::StepPart::communication);
}

// The options that describe the measured job: those of the requested one, except for what --step-... say.
CheckOptions measured_options(const RetargetOptions& o) {
  const GivenStep& step = o.command.question.step;
  CheckOptions measured;
  measured.files = o.files;
  measured.question.job = o.command.question.job;
  measured.question.ignores_memory = true;
  Job& job = measured.question.job;
  MeasuredDefaults& defaults = measured.defaults;
  defaults.gpu = job.gpu.stated;
  defaults.batch_per_gpu = job.batch_per_gpu;
  defaults.accumulation = job.accumulation;
  defaults.is_of_one_gpu = true;
  defaults.gpus_option = "--step-gpus";
  defaults.batch_option = defaults.global_batch_option = "--step-batch";
  const int most = o.command.question.gpus.empty() ? 0 : o.command.question.largest();
  if (most > 0) defaults.samples_per_gpu = static_cast<double>(job.global_batch) / most;
  job.gpu.stated = step.gpu;
  if (!step.network.empty()) job.network.stated = step.network;
  if (step.gpus > 0) measured.question.gpus = {step.gpus};
  job.global_batch = step.global_batch;
  job.batch_per_gpu = job.accumulation = 0;
  return measured;
}

MeasuredStep read_step(const RetargetOptions& o, const Catalogue& catalogue, const IsGiven& is_given) {
  const GivenStep& step = o.command.question.step;
  const CheckOptions options = measured_options(o);
  const auto is_of_measured = [&](const std::string& option) {
    if (option == "--gpu") return !step.gpu.empty();
    if (option == "--gpus") return step.gpus > 0;
    if (option == "--global-batch") return step.global_batch > 0;
    if (option == "--batch" || option == "--accumulation") return false;
    return is_given(option);
  };
  const Measurements measured = read_measurements(options, catalogue, is_of_measured);
  if (!measured.collectives.empty() || measured.steps.size() != 1)
    throw InputError("calibrate predict: " + o.files.front() +
                     ": not one training; allowed: its log, its event file, or one trace of each of its ranks");
  return measured.steps.front();
}

FittedStep fit_computing(const MeasuredStep& measured, const StepPrediction& predicted, const GivenStep& given,
                         const Catalogue& catalogue) {
  FittedStep fitted;
  fitted.given = given;
  const GpuEntry* const gpu = read_gpu_name(catalogue.gpus, measured.question.job.gpu.stated).entry;
  fitted.gpu = gpu != nullptr ? gpu->id : measured.question.job.gpu.stated;
  fitted.predicted_s = predicted.expected.seconds;
  fitted.computing_s = computing_s(measured.traced.parts());
  fitted.predicted_computing_s = computing_s(predicted.parts);
  fitted.time_factor = fitted.computing_s / fitted.predicted_computing_s;
  if (!(fitted.time_factor >= kLeastTimeFactor && fitted.time_factor <= kMostTimeFactor))
    throw InputError(measured.file + ": computes " + duration_text(fitted.computing_s) + " of a step, and " +
                     duration_text(fitted.predicted_computing_s) +
                     " are predicted; allowed: traces of the job that the options describe");
  return fitted;
}

}  // namespace

JobQuestion retargeted_question(const RetargetOptions& o, const Catalogue& catalogue, const IsGiven& is_given) {
  const JobQuestion& wanted = o.command.question;
  const MeasuredStep measured = read_step(o, catalogue, is_given);
  const StepPrediction predicted = predict_step(measured, {catalogue});

  api::JobCommand command = o.command;
  JobQuestion& question = command.question;
  question.job = measured.question.job;
  const std::string measured_gpu = measured.question.job.gpu.stated;
  if (!wanted.job.gpu.stated.empty()) question.job.gpu = wanted.job.gpu;
  const bool is_same = is_same_gpu(measured_gpu, question.job.gpu.stated, catalogue);
  if (is_given("--network") || !is_same) question.job.network = wanted.job.network;
  if (wanted.job.global_batch > 0 || wanted.job.batch_per_gpu > 0) {
    question.job.global_batch = wanted.job.global_batch;
    question.job.batch_per_gpu = wanted.job.batch_per_gpu;
    question.job.accumulation = wanted.job.accumulation;
  }

  GivenStep& step = question.step;
  step.seconds = step_seconds(measured, predicted);
  step.gpus = measured.question.gpus.front();
  step.global_batch = static_cast<std::int64_t>(predicted.samples);
  step.source = measured.file;
  step.is_batch_assumed = measured.is_batch_assumed;
  if (!is_same) step.gpu = measured_gpu;
  if (is_given("--network")) step.network = measured.question.job.network.stated;
  if (measured.traced.has_ranks()) question.fitted_step = fit_computing(measured, predicted, step, catalogue);
  return api::question_of(command);
}

CLI::App* declare_retarget(CLI::App& app, RetargetOptions& o) {
  CLI::App* const sub = app.add_subcommand(
      "predict", "Predicts a training on other GPUs, networks and numbers of GPUs, from its log or its traces");
  sub->add_option("files", o.files,
                  "Log of a training, TensorBoard's event file, or PyTorch profiler traces, one for each rank")
      ->required();
  api::declare_job_command(*sub, o.command);
  sub->add_option("--json", o.json, "Writes the predictions, as `simulate job` does; - is standard output");
  sub->add_option("--catalogue", o.catalogue, "Folder of the names and constants (default: installed)");
  sub->footer(
      "Example:\n  calibrate predict pretrain.log --model llama3-8b --gpu H100 --gpus 64,1024 --global-batch 1024");
  return sub;
}

int answer_retarget(const RetargetOptions& o, CLI::App& app, int jobs) {
  check_outputs({o.json}, o.files);
  if (o.command.question.step.seconds > 0)
    throw InputError("--step-time: " + o.files.front() + " has the time of a step; allowed: one of the two");
  Catalogue catalogue = load_catalogue(o.catalogue.empty() ? default_catalogue_folder() : o.catalogue);
  add_gpus_of_files(catalogue, {o.command.question.job.gpu.stated, o.command.question.step.gpu});
  const auto is_given = [&app](const std::string& name) {
    const CLI::Option* option = name.empty() ? nullptr : app.get_option_no_throw(name);
    return option != nullptr && option->count() > 0;
  };
  const JobPrediction predicted = predict_job(retargeted_question(o, catalogue, is_given), catalogue, jobs);
  if (!o.json.empty()) write_json_atomically(o.json, job_json(predicted, catalogue), 2);
  print_result(o.json, job_table(predicted, catalogue));
  return 0;
}

}  // namespace lockstep::sim::explain
