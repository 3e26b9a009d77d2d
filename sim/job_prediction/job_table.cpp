// Prints the answer as a table and as JSON.
#include <algorithm>
#include <map>

#include "engine/base/rounded_json.hpp"
#include "engine/base/text.hpp"
#include "sim/job_prediction/job_calendar.hpp"
#include "sim/job_prediction/job_prediction.hpp"
#include "sim/job_prediction/job_price.hpp"
#include "sim/job_prediction/job_split.hpp"
#include "sim/job_prediction/job_summary.hpp"
#include "sim/job_prediction/job_tokens.hpp"
#include "sim/job_prediction/measured_step.hpp"
#include "sim/job_prediction/own_scenarios.hpp"
#include "sim/quantity/task_memory.hpp"
#include "sim/report/split_ranking.hpp"
#include "sim/report/text_table.hpp"
#include "sim/stack/priors.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::job_prediction {
namespace {

TrainingTime time_of_epochs(const JobRow& row) {
  return {row.training->predicted, row.training->low, row.training->high};
}

std::optional<CalendarTime> calendar_of_epochs(const JobPrediction& predicted, const JobRow& row) {
  const Workload& run = row.training->task.target.front();
  return calendar_time(predicted, run.scenario, row.gpus, iteration_s(row.samples_per_s), time_of_epochs(row));
}

// The calendar time counts, if there is one.
double training_usd(const JobPrediction& predicted, const JobRow& row) {
  const std::optional<CalendarTime> calendar = calendar_of_epochs(predicted, row);
  const double seconds = calendar ? calendar->seconds : row.training->predicted;
  return rent_usd(seconds, row.gpus, predicted.question.usd_per_gpu_hour);
}

std::vector<std::string> cells_of(const JobPrediction& predicted, const JobRow& row) {
  std::vector<std::string> cells{std::to_string(row.gpus),
                                 std::to_string(row.samples_per_s.task.target.front().batch_per_gpu)};
  const auto add = [&](const QuantityPrediction& p, std::string (*text)(double)) {
    for (double value : {p.predicted, p.low, p.high}) cells.push_back(text(value));
  };
  add(row.samples_per_s, rate_text);
  add(row.efficiency, [](double share) { return formatted("%.1f %%", 100 * share); });
  if (!row.training) return cells;
  add(*row.training, duration_text);
  if (has_calendar(predicted.question))
    for (const std::string& cell : calendar_cells(calendar_of_epochs(predicted, row), time_of_epochs(row)))
      cells.push_back(cell);
  if (predicted.question.usd_per_gpu_hour > 0) cells.push_back(with_thousands(training_usd(predicted, row)));
  return cells;
}

bool is_of_job(const Assumption& input, const Inputs& inputs) {
  return inputs.defaults.count(input.pointer) > 0 || input.pointer == "algorithm" || input.pointer == "software";
}

// Lists the default batches of the rows if they differ.
std::string default_batches(const JobPrediction& predicted) {
  std::string text;
  bool differ = false;
  for (const SplitRanking& ranking : predicted.rankings) {
    const int batch = ranking.best.front().spec.global_batch;
    differ = differ || batch != predicted.rankings.front().best.front().spec.global_batch;
    text += (text.empty() ? "" : ", ") + std::to_string(batch) + " on " + gpus_text(ranking.gpus);
  }
  return differ && assumed_global_batch(predicted) > 0 ? text : "";
}

// Efficiencies are relative to this number of GPUs.
std::string baseline_text(const JobQuestion& question) {
  return question.baseline_gpus() > 1 ? gpus_text(question.baseline_gpus()) : "one GPU";
}

std::string inputs_text(const JobPrediction& predicted, const Inputs& inputs) {
  const JobQuestion& question = predicted.question;
  std::string text;
  const std::string batches = default_batches(predicted);
  if (!batches.empty())
    text += "  global_batch " + batches + " (" + why_default_batch(predicted.job.split.task) + ")\n";
  for (const std::string& line : assumed_lines(inputs, batches.empty())) text += "  " + line + "\n";
  const std::size_t others = inputs.assumptions.size() - assumed_lines(inputs).size();
  if (question.fitted_step && question.fitted_step->given.is_batch_assumed)
    text += "  measured batch " + with_thousands(static_cast<double>(question.fitted_step->given.global_batch)) +
            " (the requested job's samples per GPU; --step-batch gives it)\n";
  return (text.empty() ? "" : "Not given, and assumed:\n" + text) + std::to_string(others) +
         " more inputs: see --json. Efficiency is relative to " + baseline_text(question) +
         "; low and high: 80 % prediction interval.\n";
}

// Returns the prior times all fitted factors, from the general name to the most specific one; none if the prediction
// did not use the constant.
std::optional<double> listed_value(const std::string& constant, const Inputs& inputs) {
  const Prior& prior = prior_of(constant);
  std::optional<double> value;
  for (const Assumption& input : inputs.assumptions) {
    if (input.pointer.rfind(constant, 0) != 0) continue;
    if (!value) value = prior.value;
    if (input.kind == "fitted") *value *= input.value.get<double>();
  }
  if (value) value = std::min(*value, prior.most);
  return value;
}

// Returns the largest number of GPUs with a scenario of its own because of its exchange; 0 if there is none.
int largest_in_node(const JobPrediction& predicted) {
  int largest = 0;
  for (const JobPrediction& own : predicted.own_scenarios)
    if (!has_other_replicas(own, predicted)) largest = std::max(largest, own.question.largest());
  return largest;
}

// Describes the choices of whole replicas, a line for each scenario. The fewest GPUs come first.
std::string replicas_text(const JobPrediction& predicted) {
  std::map<int, std::string> texts;
  for (const JobPrediction& own : predicted.own_scenarios)
    if (has_other_replicas(own, predicted)) texts[own.question.largest()] = own.question.replicas_text;
  texts[predicted.question.largest()] = predicted.question.replicas_text;
  std::string text;
  for (const auto& [gpus, line] : texts) text += line;
  return text;
}

// Explains which scenario serves which rows, and how the training time follows from the iterations.
std::string meaning_text(const JobPrediction& predicted, const Inputs& inputs, const Catalogue& catalogue) {
  const JobQuestion& question = predicted.question;
  const int least = *std::min_element(question.gpus.begin(), question.gpus.end()), most = question.largest();
  const int of_node = joined_gpus_of(question, catalogue);
  std::string text;
  const int in_node = largest_in_node(predicted);
  if (in_node > 0)
    text += "Up to " + gpus_text(in_node) +
            " exchange gradients in another way than more GPUs do. Efficiency of the other rows is relative to " +
            baseline_text(question) + " with their own exchange.\n";
  else if (predicted.own_scenarios.empty() && 1 < least && least <= of_node && most > of_node)
    text += "All rows are of one scenario: links, overheads and all-reduce are those of " + std::to_string(most) +
            " GPUs.\n";
  return text + training_text(inputs);
}

Json prediction_json_at(int gpus, const char* metric, const std::string& unit, const QuantityPrediction& prediction) {
  Json json = prediction_json(std::to_string(gpus) + " GPUs: " + metric, metric, unit, prediction);
  json["gpus"] = gpus;
  return json;
}

// Describes a method that is not exact, with its error; empty for an exact one.
std::string inexact_method(const PredictionMethod& method) {
  switch (method.error_class()) {
    case ErrorClass::exact:
      break;
    case ErrorClass::approximate:
      return method.text() + "; its error against a replay of all messages is at most " +
             short_percent(method.stated_error());
    case ErrorClass::closed_form:
      return method.text() + "; its error against a replay of all messages has no bound";
  }
  return "";
}

// Writes a line for each such method, with its numbers of GPUs.
std::string inexact_methods_text(const JobPrediction& predicted) {
  std::map<std::string, std::vector<std::string>> gpus_of_method;
  for (const JobRow& row : predicted.rows)
    if (row.samples_per_s.method)
      gpus_of_method[inexact_method(*row.samples_per_s.method)].push_back(gpus_text(row.gpus));
  gpus_of_method.erase("");
  std::string text;
  for (const auto& [method, gpus] : gpus_of_method) text += "Method on " + joined(gpus) + ": " + method + ".\n";
  return text;
}

std::string refused_text(const JobPrediction& predicted) {
  std::string text;
  for (const RefusedGpus& one : predicted.refused) text += "No answer for " + one.why + ".\n";
  return text;
}

}  // namespace

std::vector<std::string> assumed_lines(const Inputs& inputs, bool lists_batch) {
  std::vector<std::string> lines;
  for (const Assumption& input : inputs.assumptions)
    if (is_of_job(input, inputs) && (lists_batch || input.pointer != "global_batch"))
      lines.push_back(input.pointer + " " +
                      (input.value.is_string() ? input.value.get<std::string>() : input.value.dump()) + " (" +
                      input.source + ")");
  return lines;
}

std::int64_t assumed_global_batch(const JobPrediction& predicted) {
  const Job& job = predicted.question.job;
  const auto& split = predicted.scenario.parallel;
  const bool is_given = job.global_batch > 0 || job.batch_per_gpu > 0 || job.accumulation > 0;
  return is_given || !split ? 0 : split->global_batch;
}

std::string training_name(const JobQuestion& question) {
  if (question.trains_to_mlperf_target) return "MLPerf's target";
  return question.samples > 0 ? format_count(question.samples) + " samples"
                              : short_number(question.job.epochs) + " epochs";
}

std::string training_text(const Inputs& inputs) {
  std::string text;
  for (const Assumption& input : inputs.assumptions)
    if (input.pointer == kMlperfSamples)
      text += "MLPerf's target takes " + with_thousands(1e6 * input.value.get<double>()) + " samples at this batch, " +
              input.source + ".\n";
  if (const auto share = listed_value(kEvaluationShare, inputs))
    text += "The time of epochs is that of their iterations, with " + formatted("%.3g", 100 * *share) +
            " % more samples for evaluation.\n";
  if (const auto factor = listed_value(kTrainingOverBenchmark, inputs))
    text +=
        "The time of epochs is " + formatted("%.3g", *factor) +
        " times that of their iterations: published trainings of images took so much longer than benchmarks of their "
        "GPUs. A measured --rate turns that off.\n";
  return text;
}

std::string job_table(const JobPrediction& predicted, const Catalogue& catalogue) {
  const JobQuestion& question = predicted.question;
  TextTable table;
  std::vector<std::string> names{
      "GPUs", question.is_split() ? "micro-batch" : "batch/GPU", "samples/s", "low", "high", "efficiency", "low",
      "high"};
  const bool has_training = predicted.rows.front().training.has_value();
  if (has_training) names.insert(names.end(), {training_name(question), "low", "high"});
  const bool shows_calendar = has_training && has_calendar(question);
  if (shows_calendar)
    for (const std::string& name : calendar_names()) names.push_back(name);
  if (has_training && question.usd_per_gpu_hour > 0) names.emplace_back("USD");
  table.add(names);
  for (const JobRow& row : predicted.rows) table.add(cells_of(predicted, row));
  const Inputs inputs = merge_inputs(predicted.tasks());
  return summary_text(summary_of(question.job, predicted.job, predicted.scenario, catalogue)) +
         measured_step_text(question) + "\n" + replicas_text(predicted) + job_splits_text(predicted) + table.text() +
         refused_text(predicted) + inexact_methods_text(predicted) + (shows_calendar ? calendar_text(predicted) : "") +
         job_tokens_text(predicted) + task_memory_line(predicted.tasks()) + task_stage_line(predicted.tasks()) +
         (predicted.rankings.empty() ? barely_fits_line(predicted.tasks()) : "") + "\n" +
         inputs_text(predicted, inputs) + meaning_text(predicted, inputs, catalogue);
}

Json job_json(const JobPrediction& predicted, const Catalogue& catalogue) {
  Json list = Json::array();
  const char* const rate_unit = predicted.scenario.model.tokens > 0 ? "samples/s" : "images/s";
  for (const JobRow& row : predicted.rows) {
    list.push_back(prediction_json_at(row.gpus, "images_per_s", rate_unit, row.samples_per_s));
    list.push_back(prediction_json_at(row.gpus, "scaling_efficiency", "over " + baseline_text(predicted.question),
                                      row.efficiency));
    list.back()["baseline_gpus"] = predicted.question.baseline_gpus();
    if (!row.training) continue;
    list.push_back(prediction_json_at(row.gpus, "training_time_s", "s", *row.training));
    add_calendar(calendar_of_epochs(predicted, row), list.back());
    if (predicted.question.usd_per_gpu_hour > 0) list.back()["usd"] = training_usd(predicted, row);
  }
  Json json{{"schema", kPredictionsSchema}, {"predictions", list}};
  if (const Json tokens = job_tokens_json(predicted); !tokens.empty()) json["tokens"] = tokens;
  for (const SplitRanking& ranking : predicted.rankings)
    json["splits"].push_back(split_ranking_json(predicted.scenario, ranking));
  for (const RefusedGpus& one : predicted.refused)
    json["refused"].push_back({{"gpus", one.gpus}, {"status", name_of(one.status)}, {"reason", one.why}});
  if (const auto& step = predicted.question.fitted_step) json["measured_step"] = measured_step_json(*step);
  json["read"] = summary_json(summary_of(predicted.question.job, predicted.job, predicted.scenario, catalogue));
  return rounded(std::move(json));
}

}  // namespace lockstep::sim::job_prediction
