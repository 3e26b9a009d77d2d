#include "sim/job_prediction/job_tokens.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/convergence/profile.hpp"
#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/job_prediction/batch_ramp.hpp"
#include "sim/job_prediction/job_calendar.hpp"
#include "sim/job_prediction/job_loss.hpp"
#include "sim/job_prediction/job_price.hpp"
#include "sim/replica/rank_cost.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/convergence_read.hpp"

namespace lockstep::sim::job_prediction {
namespace {

struct Row {
  int gpus = 0;
  double tokens_per_s = 0, low = 0, high = 0;
  double flops_per_gpu = 0, mfu = 0, hfu = 0;
  double batch_tokens = 0;  // per update
  std::optional<BoundedValue> tokens, loss;
  const JobRow* of = nullptr;
  TrainingTime training;
  std::optional<CalendarTime> calendar;
  double usd = 0;
};

bool has_work(const JobQuestion& question) {
  return question.tokens > 0 || question.loss > 0;
}

// Rounds up to whole iterations, as plans do.
TrainingTime time_of_tokens(double tokens, double tokens_of_sample, double batch, const Row& row) {
  const double seconds = seconds_with_ramp(*row.of, std::ceil(tokens / tokens_of_sample), batch,
                                           batch * tokens_of_sample / row.tokens_per_s);
  return {seconds, seconds * row.tokens_per_s / row.high, seconds * row.tokens_per_s / row.low};
}

void train_on_tokens(const JobPrediction& predicted, double batch, Row& row) {
  const double tokens = predicted.question.tokens;
  row.training = time_of_tokens(tokens, predicted.scenario.model.tokens, batch, row);
  if (!predicted.loss) return;
  row.loss = loss_after(*predicted.loss, tokens, batch_for_loss(predicted, *row.of, tokens, row.batch_tokens));
}

// Computes the same time as a scenario with this target.
void train_to_loss(const Scenario& scenario, double batch, const QuantityPrediction& samples, Row& row) {
  const IterationsEstimate iterations =
      iterations_to_target(*scenario.convergence, training_setting(scenario, row.gpus), batch, 0);
  const TimeToAccuracy time = time_to_accuracy(*scenario.convergence, iterations, batch, batch / samples.predicted,
                                               samples.predicted / samples.high, samples.predicted / samples.low);
  row.training = {time.seconds, time.low_s, time.high_s};
  row.tokens = tokens_to_loss(scenario, row.gpus, batch);
}

// The ramp changes the seconds at both ends of the interval by the same factor.
void add_ramp(const JobPrediction& predicted, double batch, Row& row) {
  if (row.of->ramp.empty()) return;
  row.tokens = tokens_with_ramp(predicted, *row.of, row.batch_tokens, *row.tokens);
  const double longer =
      time_of_tokens(row.tokens->middle, predicted.scenario.model.tokens, batch, row).seconds / row.training.seconds;
  for (double* seconds : {&row.training.seconds, &row.training.low_s, &row.training.high_s}) *seconds *= longer;
}

Row row_of(const JobPrediction& predicted, const JobRow& of) {
  const JobQuestion& question = predicted.question;
  const QuantityPrediction& samples = of.samples_per_s;
  const Scenario& scenario = samples.task.target.front().scenario;
  Row row;
  row.of = &of;
  row.gpus = of.gpus;
  const double tokens = scenario.model.tokens;
  row.tokens_per_s = samples.predicted * tokens;
  row.low = samples.low * tokens;
  row.high = samples.high * tokens;
  row.flops_per_gpu = model_flops_per_gpu(scenario, samples.predicted, row.gpus);
  const double peak = utilisation_peak_flops(scenario.cluster.gpu, scenario.compute.precision);
  row.mfu = model_utilisation(row.flops_per_gpu, peak);
  row.hfu = hardware_utilisation(row.mfu, recomputed_share(scenario));
  const double batch = samples.task.target.front().samples() * samples.task.target.front().accumulation;
  row.batch_tokens = batch * tokens;
  if (!has_work(question)) return row;
  if (question.loss > 0) {
    train_to_loss(scenario, batch, samples, row);
    add_ramp(predicted, batch, row);
  } else {
    train_on_tokens(predicted, batch, row);
  }
  row.calendar = calendar_time(predicted, scenario, row.gpus, iteration_s(samples), row.training);
  row.usd = rent_usd(row.calendar ? row.calendar->seconds : row.training.seconds, row.gpus, question.usd_per_gpu_hour);
  return row;
}

std::vector<Row> rows_of(const JobPrediction& predicted) {
  std::vector<Row> rows;
  if (predicted.scenario.model.tokens == 0) return rows;
  for (const JobRow& row : predicted.rows) rows.push_back(row_of(predicted, row));
  return rows;
}

bool recomputes(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.hfu > row.mfu; });
}

std::string work_name(const JobQuestion& question) {
  if (question.samples > 0) return training_name(question);
  return question.loss > 0 ? loss_target_name(question.loss) : format_count(question.tokens) + " tokens";
}

// Names at most three stages: "512 until 252M tokens, 1024 until 2.87T".
std::string ramp_text(const std::vector<Row>& rows, double tokens_of_sample) {
  const Row& row = rows.back();
  const std::vector<BatchStage>& ramp = row.of->ramp;
  if (ramp.empty()) return "";
  std::string stages;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ramp.size()); ++i)
    stages += (i == 0 ? "" : ", ") + std::to_string(ramp[i].global_batch) + " until " +
              format_count(ramp[i].until_tokens) + (i == 0 ? " tokens" : "");
  if (ramp.size() > 3) stages += ", ... (" + std::to_string(ramp.size()) + " batches)";
  const double batch = row.batch_tokens / tokens_of_sample, iteration_s = row.batch_tokens / row.tokens_per_s;
  double slower = 0;
  const auto interpolated =
      std::count_if(ramp.begin(), ramp.end(), [](const BatchStage& stage) { return stage.is_interpolated; });
  for (const BatchStage& stage : ramp)
    slower = std::max(slower, stage.iteration_s / double(stage.global_batch) * batch / iteration_s - 1);
  return "Batch ramp: " + stages + ", then " + short_number(batch) + ". Its smaller batches take up to " +
         formatted("%.0f %%", 100 * slower) + " longer per token on " + gpus_text(row.gpus) + ".\n" +
         (interpolated == 0
              ? ""
              : "The split cannot run " + std::to_string(interpolated) +
                    " of these batches; their times are estimated from those of batches that it can run.\n");
}

Json ramp_json(const std::vector<BatchStage>& ramp) {
  Json list = Json::array();
  for (const BatchStage& stage : ramp)
    list.push_back({{"global_batch", stage.global_batch},
                    {"until_tokens", stage.until_tokens},
                    {"iteration_s", stage.iteration_s},
                    {"interpolated", stage.is_interpolated}});
  return list;
}

// Names the peak that MFU refers to if the job computes in fewer bits, so that it may exceed 100 %.
std::string base_of_mfu_text(const Scenario& scenario) {
  const Precision precision = scenario.compute.precision;
  if (precision != Precision::fp8 && precision != Precision::fp4) return "";
  const double peak = utilisation_peak_flops(scenario.cluster.gpu, precision);
  return "MFU is relative to the peak in half precision, " + formatted("%.0f", peak * 1e-12) +
         " TFLOP/s, which GEMMs in " + name_of(precision) + " can exceed.\n";
}

// Writes null if the upper end is out of reach.
void add_estimate(const std::string& key, const std::optional<BoundedValue>& estimate, Json& json) {
  if (!estimate) return;
  json[key] = estimate->middle;
  json[key + "_low"] = estimate->low;
  json[key + "_high"] = std::isinf(estimate->high) ? Json() : Json(estimate->high);
}

}  // namespace

double count_of(const std::string& option, const std::string& text) {
  if (const std::optional<double> count = parse_count(text)) return *count;
  throw InputError(option + " " + in_quotes(text) +
                   ": not a count; allowed: a number above 0, with k, M, B or T behind it: 300B");
}

std::string job_tokens_text(const JobPrediction& predicted) {
  const JobQuestion& question = predicted.question;
  const std::vector<Row> rows = rows_of(predicted);
  if (rows.empty()) return "";
  TextTable table;
  std::vector<std::string> names{"GPUs", "tokens/s", "low", "high", "TFLOP/s/GPU", "MFU"};
  if (recomputes(rows)) names.emplace_back("HFU");
  if (question.loss > 0) names.emplace_back("tokens");
  if (has_work(question)) names.insert(names.end(), {work_name(question), "low", "high"});
  const bool shows_calendar = has_work(question) && has_calendar(question);
  if (shows_calendar)
    for (const std::string& name : calendar_names()) names.push_back(name);
  const bool shows_cost = has_work(question) && question.usd_per_gpu_hour > 0;
  if (shows_cost) names.emplace_back("USD");
  table.add(names);
  for (const Row& row : rows) {
    std::vector<std::string> cells{std::to_string(row.gpus),
                                   rate_text(row.tokens_per_s),
                                   rate_text(row.low),
                                   rate_text(row.high),
                                   formatted("%.1f", row.flops_per_gpu * 1e-12),
                                   percent(row.mfu)};
    if (recomputes(rows)) cells.push_back(percent(row.hfu));
    if (row.tokens) cells.push_back(format_count(row.tokens->middle));
    for (double seconds : {row.training.seconds, row.training.low_s, row.training.high_s})
      if (has_work(question)) cells.push_back(duration_text(seconds));
    if (shows_calendar)
      for (const std::string& cell : calendar_cells(row.calendar, row.training)) cells.push_back(cell);
    if (shows_cost) cells.push_back(with_thousands(row.usd));
    table.add(cells);
  }
  return "\n" + table.text() + base_of_mfu_text(predicted.scenario) + (shows_calendar ? calendar_text(predicted) : "") +
         ramp_text(rows, predicted.scenario.model.tokens) + job_loss_text(predicted);
}

Json job_tokens_json(const JobPrediction& predicted) {
  const JobQuestion& question = predicted.question;
  Json list = Json::array();
  for (const Row& row : rows_of(predicted)) {
    Json json{{"gpus", row.gpus},
              {"tokens_per_s", row.tokens_per_s},
              {"tokens_per_s_low", row.low},
              {"tokens_per_s_high", row.high},
              {"model_flops_per_gpu", row.flops_per_gpu}};
    if (row.mfu > 0) json["mfu"] = row.mfu;
    if (row.hfu > row.mfu) json["hfu"] = row.hfu;
    if (has_work(question)) {
      json["sequence_tokens"] = predicted.scenario.model.tokens;
      json["batch_tokens"] = row.batch_tokens;
      if (question.tokens > 0) json["trained_tokens"] = question.tokens;
      json["training_s"] = row.training.seconds;
      json["training_s_low"] = row.training.low_s;
      json["training_s_high"] = row.training.high_s;
    }
    if (!row.of->ramp.empty()) json["batch_ramp"] = ramp_json(row.of->ramp);
    add_estimate("tokens", row.tokens, json);
    add_estimate("loss", row.loss, json);
    if ((row.tokens || row.loss) && predicted.loss) json["loss_law"] = predicted.loss->law.id;
    add_calendar(row.calendar, json);
    if (has_work(question) && question.usd_per_gpu_hour > 0) json["usd"] = row.usd;
    list.push_back(json);
  }
  return list;
}

}  // namespace lockstep::sim::job_prediction
