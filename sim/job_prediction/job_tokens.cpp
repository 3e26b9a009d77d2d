#include "sim/job_prediction/job_tokens.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/job_prediction/job_calendar.hpp"
#include "sim/replica/rank_cost.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim::job_prediction {
namespace {

struct Row {
  int gpus = 0;
  double tokens_per_s = 0, low = 0, high = 0;
  double flops_per_gpu = 0, mfu = 0, hfu = 0;
  TrainingTime training;
  std::optional<CalendarTime> calendar;
  double usd = 0;
};

Row row_of(const JobPrediction& predicted, const Scenario& scenario, int gpus, const QuantityPrediction& samples) {
  const JobQuestion& question = predicted.question;
  Row row;
  row.gpus = gpus;
  const double tokens = scenario.model.tokens;
  row.tokens_per_s = samples.predicted * tokens;
  row.low = samples.low * tokens;
  row.high = samples.high * tokens;
  row.flops_per_gpu = model_flops_per_gpu(scenario.model, samples.predicted, row.gpus);
  const double peak = utilisation_peak_flops(scenario.cluster.gpu, scenario.compute.precision);
  row.mfu = peak > 0 ? row.flops_per_gpu / peak : 0;
  row.hfu = row.mfu * (1 + recomputed_share(scenario));
  if (question.tokens == 0) return row;
  // Whole iterations, as a plan has them.
  const double batch = samples.task.target.front().samples() * samples.task.target.front().accumulation;
  const double trained = std::ceil(std::ceil(question.tokens / tokens) / batch) * batch * tokens;
  row.training = {trained / row.tokens_per_s, trained / row.high, trained / row.low};
  row.calendar = calendar_time(predicted, scenario, row.gpus, row.training);
  row.usd = row.training.seconds / 3600 * row.gpus * question.usd_per_gpu_hour;
  return row;
}

std::vector<Row> rows_of(const JobPrediction& predicted) {
  std::vector<Row> rows;
  if (predicted.scenario.model.tokens == 0) return rows;
  for (const JobRow& row : predicted.rows)
    rows.push_back(row_of(predicted, row.samples_per_s.task.target.front().scenario, row.gpus, row.samples_per_s));
  return rows;
}

bool recomputes(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.hfu > row.mfu; });
}

std::string percent_text(double share) {
  return formatted("%.1f %%", 100 * share);
}

std::string count_text(double count) {
  for (const auto& [unit, name] : std::vector<std::pair<double, const char*>>{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}})
    if (count >= unit) return short_number(count / unit) + name;
  return short_number(count);
}

}  // namespace

double count_of(const std::string& option, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string suffix(end, text.data() + text.size());
  const std::vector<std::pair<std::string, double>> factors{{"", 1},    {"k", 1e3}, {"K", 1e3}, {"M", 1e6},
                                                            {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
  for (const auto& [name, factor] : factors)
    if (error == std::errc() && suffix == name && value > 0 && std::isfinite(value * factor)) return value * factor;
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
  if (question.tokens > 0) names.insert(names.end(), {count_text(question.tokens) + " tokens", "low", "high"});
  const bool shows_calendar = question.tokens > 0 && has_calendar(question);
  if (shows_calendar)
    for (const std::string& name : calendar_names()) names.push_back(name);
  if (question.usd_per_gpu_hour > 0) names.emplace_back("USD");
  table.add(names);
  for (const Row& row : rows) {
    std::vector<std::string> cells{std::to_string(row.gpus),
                                   with_thousands(row.tokens_per_s),
                                   with_thousands(row.low),
                                   with_thousands(row.high),
                                   formatted("%.1f", row.flops_per_gpu * 1e-12),
                                   percent_text(row.mfu)};
    if (recomputes(rows)) cells.push_back(percent_text(row.hfu));
    for (double seconds : {row.training.seconds, row.training.low_s, row.training.high_s})
      if (question.tokens > 0) cells.push_back(duration_text(seconds));
    if (shows_calendar)
      for (const std::string& cell : calendar_cells(row.calendar)) cells.push_back(cell);
    if (question.usd_per_gpu_hour > 0) cells.push_back(with_thousands(row.usd));
    table.add(cells);
  }
  return "\n" + table.text() + (shows_calendar ? calendar_text() : "");
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
    if (question.tokens > 0) {
      json["training_s"] = row.training.seconds;
      json["training_s_low"] = row.training.low_s;
      json["training_s_high"] = row.training.high_s;
    }
    add_calendar(row.calendar, json);
    if (question.usd_per_gpu_hour > 0) json["usd"] = row.usd;
    list.push_back(json);
  }
  return list;
}

}  // namespace lockstep::sim::job_prediction
