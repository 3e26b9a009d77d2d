// What a publication's metric is of: baselines, epochs, layers, orders of arrival, periods, wanted efficiencies.
#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/records/translate_parts.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kIterationsSeen = 1e4;  // of a maximum for which it is not stated

std::optional<std::smatch> first_match(std::initializer_list<const std::string*> texts, const std::regex& pattern) {
  std::smatch found;
  for (const std::string* text : texts)
    if (std::regex_search(*text, found, pattern)) return found;
  return std::nullopt;
}

// "vs 8 GPUs", "8 -> 256", "speedup_vs_8_gpus".
int baseline_gpus(const Record& record) {
  static const std::regex versus(R"(vs (\d{1,7}) GPU)"), from(R"((\d{1,7}) ->)"), named(R"((?:vs|over)_(\d{1,7})_gpu)");
  for (const std::string& text : {record.unit, record.notes}) {
    std::smatch found;
    if (std::regex_search(text, found, versus) || std::regex_search(text, found, from))
      return std::stoi(found[1].str());
  }
  const std::string metric = lower_case(record.metric);
  std::smatch found;
  return std::regex_search(metric, found, named) ? std::stoi(found[1].str()) : 0;
}

// "90 epochs" in the unit or the notes.
double epochs_stated(const Record& record) {
  static const std::regex pattern(R"((\d{1,7}(?:\.\d+)?)[ _-]epochs?\b)");
  const auto found = first_match({&record.unit, &record.notes, &record.algorithm, &record.metric}, pattern);
  return found ? std::stod((*found)[1].str()) : 0;
}

// "layer 12", "L12", "BW-stale-L12".
std::optional<int> layer_of(const Record& record) {
  static const std::regex number(R"((?:^|[^A-Za-z])(?:layer|l)[ _-]?(\d{1,4})(?![\dA-Za-z]))", std::regex::icase);
  const auto found = first_match({&record.metric, &record.unit, &record.notes, &record.group, &record.id}, number);
  return found ? std::optional<int>(std::stoi((*found)[1].str())) : std::nullopt;
}

std::optional<Statistic> statistic_of(const std::string& metric) {
  static const std::vector<std::pair<const char*, Statistic>> names{
      {"min", Statistic::min},      {"minimum", Statistic::min}, {"mean", Statistic::mean},
      {"average", Statistic::mean}, {"avg", Statistic::mean},    {"median", Statistic::median},
      {"max", Statistic::max},      {"maximum", Statistic::max}, {"sd", Statistic::sd},
      {"std", Statistic::sd},       {"stdev", Statistic::sd},    {"stddev", Statistic::sd},
      {"deviation", Statistic::sd}};
  const std::vector<std::string> words = words_of(metric);
  for (const auto& [word, statistic] : names)
    if (std::count(words.begin(), words.end(), word) > 0) return statistic;
  return std::nullopt;
}

// "N=100, b=6": the gradients of an update.
int aggregated(const Record& record) {
  static const std::regex stated(R"(\bN *= *(\d{1,6}))");
  const auto found = first_match({&record.algorithm}, stated);
  return found ? std::stoi((*found)[1].str()) : 0;
}

Order order_of(const Record& record) {
  static const std::regex of(R"((\d{1,6})(?:st|nd|rd|th)? of (\d{1,6}))", std::regex::icase);
  for (const std::string& text : {record.unit, record.metric, record.notes, record.algorithm}) {
    std::smatch found;
    if (!std::regex_search(text, found, of)) continue;
    const Order order{std::stoi(found[1].str()), std::stoi(found[2].str())};
    if (order.k >= 1 && order.k <= order.n) return order;
  }
  return {};
}

// "90 % efficiency": what counts as enough.
double wanted_efficiency(const Record& record) {
  static const std::regex stated(R"((\d{2}(?:\.\d+)?) ?(?:%|percent))");
  for (const std::string& text : {record.unit, record.notes}) {
    std::smatch found;
    if (std::regex_search(text, found, stated) && mentions(text, "efficien")) return std::stod(found[1].str()) / 100;
  }
  return 0;
}

int tau_of(const Record& record) {
  static const std::regex stated(R"(tau *= *(\d{1,4}))", std::regex::icase);
  const auto found = first_match({&record.algorithm, &record.unit, &record.notes}, stated);
  return found ? std::stoi((*found)[1].str()) : 0;
}

}  // namespace

std::optional<ArrivalSpec> arrival_in_texts(const Record& record) {
  static const std::regex cdf(R"(^cdf_(?:at_)?(\d+(?:[._]\d+)?)_?s$)", std::regex::icase);
  static const std::regex percentile(R"((?:^|_)p(\d+(?:[._]\d+)?)(?:_|$))", std::regex::icase);
  std::smatch found;
  const auto number = [&] {
    std::string text = found[1].str();
    std::replace(text.begin(), text.end(), '_', '.');
    return std::stod(text);
  };
  const std::string& metric = record.metric;
  ArrivalSpec arrival;
  arrival.order = order_of(record);
  if (std::regex_match(metric, found, cdf)) {
    arrival.before_s = number();
    return arrival;
  }
  if (!mentions(metric, "arrival") || mentions(metric, "range")) return std::nullopt;
  const Order& order = arrival.order;
  if (std::regex_search(metric, found, percentile)) {
    arrival.at = number() / 100;
    return arrival.at > 0 && arrival.at < 1 ? std::optional<ArrivalSpec>(arrival) : std::nullopt;
  }
  if (mentions(metric, "max")) {
    arrival.at = 1 - 1 / (kIterationsSeen * std::max(1, record.gpus));
    arrival.is_longest = true;
    return arrival;
  }
  if (!says(metric, {"mean", "median"})) return std::nullopt;
  arrival.at = order.n > 1 ? (order.k - 0.375) / (order.n + 0.25) : 0.5;  // Blom's place of the k-th of n
  return arrival;
}

void translate_conditions(const Record& record, JobSpec& job) {
  const Metric metric = job.measure.metric;
  job.baseline_gpus = baseline_gpus(record);
  job.is_strong_scaling = mentions(record.metric + record.notes + record.unit, "strong scaling") ||
                          mentions(record.metric, "strong_scaling");
  job.epochs = epochs_stated(record);
  job.tau = tau_of(record);
  job.aggregated = aggregated(record);
  job.wanted_efficiency = wanted_efficiency(record);
  if (metric == Metric::staleness) {
    job.statistic = statistic_of(record.metric);
    job.layer = layer_of(record);
  }
  if (metric == Metric::arrival) job.arrival = *arrival_in_texts(record);
}

}  // namespace records
}  // namespace lockstep::sim
