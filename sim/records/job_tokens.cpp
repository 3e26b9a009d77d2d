#include "sim/records/job_tokens.hpp"

#include <cmath>
#include <cstdlib>

#include "engine/base/text.hpp"
#include "sim/replica/rank_cost.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kMostTokens = 1e18;
constexpr double kFlopPerMac = 3 * 2;  // forward, and the gradients of inputs and weights

struct Row {
  int gpus = 0;
  double tokens_per_s = 0, low = 0, high = 0;
  double flops_per_gpu = 0, mfu = 0, hfu = 0;
  double training_s = 0, training_low_s = 0, training_high_s = 0, usd = 0;
};

Row row_of(const Job& job, const Scenario& scenario, const Prediction& samples) {
  Row row;
  row.gpus = samples.mapped.target.front().gpus;
  const double tokens = scenario.model.tokens;
  row.tokens_per_s = samples.predicted * tokens;
  row.low = samples.low * tokens;
  row.high = samples.high * tokens;
  row.flops_per_gpu = kFlopPerMac * static_cast<double>(scenario.model.macs()) * samples.predicted / row.gpus;
  const double peak = scenario.cluster.gpu.peak_flops(scenario.compute.precision);
  row.mfu = peak > 0 ? row.flops_per_gpu / peak : 0;
  row.hfu = row.mfu * (1 + recomputed_share(scenario));
  if (job.tokens == 0) return row;
  row.training_s = job.tokens / row.tokens_per_s;
  row.training_low_s = job.tokens / row.high;
  row.training_high_s = job.tokens / row.low;
  row.usd = row.training_s / 3600 * row.gpus * job.usd_per_gpu_hour;
  return row;
}

std::vector<Row> rows_of(const Job& job, const JobPrediction& predicted) {
  std::vector<Row> rows;
  if (predicted.scenario.model.tokens == 0) return rows;
  for (const Prediction& p : predicted.predictions)
    if (p.mapped.quantity == Quantity::images_per_s) rows.push_back(row_of(job, predicted.scenario, p));
  return rows;
}

bool recomputes(const std::vector<Row>& rows) {
  return !rows.empty() && rows.front().hfu > rows.front().mfu;
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

double tokens_of(const std::string& text) {
  char* end = nullptr;
  double count = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (unit == "K") count *= 1e3;
  if (unit == "M") count *= 1e6;
  if (unit == "B") count *= 1e9;
  if (unit == "T") count *= 1e12;
  const bool is_known = unit.empty() || unit == "K" || unit == "M" || unit == "B" || unit == "T";
  if (end == text.c_str() || !is_known || !std::isfinite(count) || count < 1 || count > kMostTokens)
    throw InputError("--tokens " + text + ": no number of tokens; allowed: such as 15T, 300B or 5e9");
  return count;
}

std::string job_tokens_text(const Job& job, const JobPrediction& predicted) {
  const std::vector<Row> rows = rows_of(job, predicted);
  if (rows.empty()) return "";
  TextTable table;
  std::vector<std::string> names{"GPUs", "tokens/s", "low", "high", "TFLOP/s/GPU", "MFU"};
  if (recomputes(rows)) names.emplace_back("HFU");
  if (job.tokens > 0) names.insert(names.end(), {count_text(job.tokens) + " tokens", "low", "high"});
  if (job.usd_per_gpu_hour > 0) names.emplace_back("USD");
  table.add(names);
  for (const Row& row : rows) {
    std::vector<std::string> cells{std::to_string(row.gpus),
                                   with_thousands(row.tokens_per_s),
                                   with_thousands(row.low),
                                   with_thousands(row.high),
                                   formatted("%.1f", row.flops_per_gpu * 1e-12),
                                   percent_text(row.mfu)};
    if (recomputes(rows)) cells.push_back(percent_text(row.hfu));
    for (double seconds : {row.training_s, row.training_low_s, row.training_high_s})
      if (job.tokens > 0) cells.push_back(duration_text(seconds));
    if (job.usd_per_gpu_hour > 0) cells.push_back(with_thousands(row.usd));
    table.add(cells);
  }
  return "\n" + table.text();
}

Json job_tokens_json(const Job& job, const JobPrediction& predicted) {
  Json list = Json::array();
  for (const Row& row : rows_of(job, predicted)) {
    Json json{{"gpus", row.gpus},
              {"tokens_per_s", row.tokens_per_s},
              {"tokens_per_s_low", row.low},
              {"tokens_per_s_high", row.high},
              {"model_flops_per_gpu", row.flops_per_gpu}};
    if (row.mfu > 0) json["mfu"] = row.mfu;
    if (row.hfu > row.mfu) json["hfu"] = row.hfu;
    if (job.tokens > 0) {
      json["training_s"] = row.training_s;
      json["training_s_low"] = row.training_low_s;
      json["training_s_high"] = row.training_high_s;
    }
    if (job.usd_per_gpu_hour > 0) json["usd"] = row.usd;
    list.push_back(json);
  }
  return list;
}

}  // namespace records
}  // namespace lockstep::sim
