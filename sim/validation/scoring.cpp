#include "sim/validation/scoring.hpp"

#include <cmath>
#include <functional>

#include "engine/base/format_printf.hpp"
#include "engine/base/progress_line.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/validation/bounds.hpp"
#include "sim/validation/sources.hpp"
#include "sim/validation/suite.hpp"

namespace lockstep::sim::validation {
namespace {

// The median over sources of each one's median. Records without a value do not count.
struct OverSources {
  int sources = 0;
  double value = 0;
};

OverSources over_sources(const std::vector<const LeftOut*>& records,
                         const std::function<std::optional<double>(const LeftOut&)>& of) {
  std::map<std::string, std::vector<double>> by_source;
  for (const LeftOut* one : records)
    if (const std::optional<double> value = of(*one)) by_source[one->source].push_back(*value);
  std::vector<double> medians;
  for (const auto& [source, values] : by_source) medians.push_back(median(values));
  return {static_cast<int>(medians.size()), medians.empty() ? 0 : median(medians)};
}

// Returns |Prediction::error()| of another predicted value.
double error_of(const Prediction& p, double predicted) {
  Prediction other;
  other.record = p.record;
  other.task.quantity = p.task.quantity;
  other.task.is_share = p.task.is_share;
  other.predicted = predicted;
  return std::abs(other.error());
}

Comparison compared(const std::vector<const LeftOut*>& records, std::optional<double> Baselines::*baseline) {
  std::vector<const LeftOut*> comparable;
  for (const LeftOut* one : records)
    if (one->baselines.*baseline) comparable.push_back(one);
  const OverSources of_baseline = over_sources(
      comparable, [&](const LeftOut& one) { return error_of(one.prediction, *(one.baselines.*baseline)); });
  const OverSources of_prediction =
      over_sources(comparable, [](const LeftOut& one) { return std::abs(one.prediction.error()); });
  return {of_baseline.sources, of_baseline.value, of_prediction.value};
}

constexpr const char* kRatesOfSequences = "throughput of sequences";

bool is_rate_of_sequences(const Prediction& p) {
  return family_of(p) == "throughput" && !p.task.target.empty() && p.task.target.front().scenario.model.tokens > 0;
}

std::vector<Record> without_source(const std::vector<Record>& jobs, const std::string& source) {
  std::vector<Record> others;
  for (const Record& job : jobs)
    if (may_predict(job.whole_source, source)) others.push_back(job);
  return others;
}

std::string text_of(const Comparison& c) {
  return c.sources == 0 ? "-" : percent(c.baseline) + " / " + percent(c.prediction);
}

Json json_of(const Comparison& c) {
  return {{"sources", c.sources}, {"error", c.baseline}, {"error_of_prediction", c.prediction}};
}

}  // namespace

std::string to_string(Track track) {
  return track == Track::facts ? "facts" : "results";
}

std::vector<LeftOut> predict_left_out(const FittedConstants& fitted, const std::vector<Record>& records,
                                      const std::vector<const Record*>& targets, int jobs) {
  std::map<std::string, std::vector<std::size_t>> by_source;
  for (std::size_t i = 0; i < targets.size(); ++i) by_source[targets[i]->whole_source].push_back(i);
  std::vector<Record> known;
  for (const Record& record : records)
    if (record.value && record.use != Use::apart) known.push_back(resolve_record(record, fitted.all));
  const Utilisations utilisations(known, fitted.all);
  const std::vector<Record> given = given_results(records, fitted.all);
  std::vector<std::optional<LeftOut>> facts(targets.size()), results(targets.size());
  ProgressLine progress("sources", by_source.size());
  for (const auto& [source, places] : by_source) {
    const auto found = fitted.without.find(source);
    const Catalogue& without = found == fitted.without.end() ? fitted.all : found->second;
    std::vector<std::shared_ptr<const Record>> asked;
    for (std::size_t place : places)
      asked.push_back(std::make_shared<const Record>(resolve_target(*targets[place], without)));
    MapOptions facts_alone;
    facts_alone.use_rates = facts_alone.use_anchors = false;
    const std::vector<Record> of_others = without_source(given, source);
    std::vector<const Record*> others, with_given;
    for (const Record& job : known) {
      const bool is_other = may_predict(job.whole_source, source);
      if (is_other) others.push_back(&job);
      if (is_other || job.role == Role::input) with_given.push_back(&job);
    }
    const std::vector<Prediction> by_facts = predict_resolved(asked, of_others, without, {jobs, true}, facts_alone);
    const std::vector<Prediction> by_results = predict_resolved(asked, given, without, {jobs, true});
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::string rate_class = class_of_rate(*asked[i], without);
      const std::optional<double> utilisation = utilisations.without(source, rate_class);
      facts[places[i]] = {Track::facts, source, by_facts[i],
                          baselines_of(by_facts[i], *asked[i], others, utilisation, without), rate_class};
      if (by_results[i].task.uses_results)
        results[places[i]] = {Track::results, source, by_results[i],
                              baselines_of(by_results[i], *asked[i], with_given, utilisation, without), rate_class};
    }
    progress.advance();
  }
  std::vector<LeftOut> all;
  for (auto* track : {&facts, &results})
    for (std::optional<LeftOut>& one : *track)
      if (one) all.push_back(std::move(*one));
  std::vector<Prediction> predictions;
  for (const LeftOut& one : all) predictions.push_back(one.prediction);
  set_bounds_left_out(predictions);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].prediction = std::move(predictions[i]);
  return all;
}

SourceScore score_of(const std::vector<const LeftOut*>& records) {
  SourceScore score;
  score.records = static_cast<int>(records.size());
  const OverSources error = over_sources(records, [](const LeftOut& one) { return std::abs(one.prediction.error()); });
  score.sources = error.sources;
  score.error = error.value;
  score.width = over_sources(records, [](const LeftOut& one) {
                  const Prediction& p = one.prediction;
                  return std::optional<double>((p.high - p.low) / 2 / std::abs(p.predicted));
                }).value;
  std::map<std::string, std::pair<int, int>> inside;
  for (const LeftOut* one : records) {
    const Prediction& p = one->prediction;
    auto& [in, of] = inside[one->source];
    in += p.low <= *p.record->value && *p.record->value <= p.high;
    ++of;
  }
  for (const auto& [source, counts] : inside)
    score.inside += double(counts.first) / counts.second / static_cast<double>(inside.size());
  score.nearest = compared(records, &Baselines::nearest);
  score.mfu = compared(records, &Baselines::mfu);
  score.linear = compared(records, &Baselines::linear);
  score.alpha_beta = compared(records, &Baselines::alpha_beta);
  return score;
}

std::map<std::pair<std::string, Track>, std::vector<const LeftOut*>> by_family(const std::vector<LeftOut>& all) {
  std::map<std::pair<std::string, Track>, std::vector<const LeftOut*>> families;
  for (const LeftOut& one : all)
    if (one.prediction.has_error()) {
      families[{family_of(one.prediction), one.track}].push_back(&one);
      if (is_rate_of_sequences(one.prediction)) families[{kRatesOfSequences, one.track}].push_back(&one);
    }
  return families;
}

std::string scoring_table(const std::vector<LeftOut>& all) {
  std::string text = format_printf("%-23s  %-8s %7s %7s %8s %8s %8s   %-17s %-17s %-17s %s\n", "left out by source",
                                   "from", "sources", "records", "error", "inside", "width", "nearest / ours",
                                   "mfu / ours", "linear / ours", "alpha-beta / ours");
  for (const auto& [key, records] : by_family(all)) {
    const SourceScore s = score_of(records);
    text += format_printf("%-23s  %-8s %7d %7d %8s %8s %8s   %-17s %-17s %-17s %s\n", key.first.c_str(),
                          to_string(key.second).c_str(), s.sources, s.records, percent(s.error).c_str(),
                          percent(s.inside).c_str(), percent(s.width).c_str(), text_of(s.nearest).c_str(),
                          text_of(s.mfu).c_str(), text_of(s.linear).c_str(), text_of(s.alpha_beta).c_str());
  }
  return text;
}

std::string class_table(const std::vector<LeftOut>& all) {
  std::map<std::string, std::vector<const LeftOut*>> classes;
  for (const LeftOut& one : all)
    if (one.track == Track::facts && one.prediction.has_error() && is_rate_of_sequences(one.prediction) &&
        one.baselines.mfu)
      classes[one.rate_class].push_back(&one);
  std::string text =
      format_printf("%-32s %7s %7s %8s %8s\n", "rates of transformers by class", "sources", "records", "error", "MFU");
  for (const auto& [name, records] : classes) {
    const SourceScore s = score_of(records);
    text += format_printf("%-32s %7d %7d %8s %8s\n", name.c_str(), s.mfu.sources, s.records,
                          percent(s.mfu.prediction).c_str(), percent(s.mfu.baseline).c_str());
  }
  return text;
}

std::string source_table(const std::vector<LeftOut>& all) {
  std::string text;
  for (const auto& [key, records] : by_family(all)) {
    text += key.first + ", " + to_string(key.second) + "\n";
    std::map<std::string, std::vector<const LeftOut*>> sources;
    for (const LeftOut* one : records) sources[one->source].push_back(one);
    for (const auto& [source, of_source] : sources) {
      std::vector<double> errors;
      for (const LeftOut* one : of_source) errors.push_back(one->prediction.error());
      const SourceScore s = score_of(of_source);
      text += format_printf("  %-60.60s %4d %8s, with its sign %9s, inside %8s\n", source.c_str(), s.records,
                            percent(s.error).c_str(), percent(median(errors)).c_str(), percent(s.inside).c_str());
    }
  }
  return text;
}

Json scoring_json(const std::vector<LeftOut>& all) {
  Json rows = Json::array();
  for (const auto& [key, records] : by_family(all)) {
    const SourceScore s = score_of(records);
    rows.push_back({{"family", key.first},
                    {"track", to_string(key.second)},
                    {"sources", s.sources},
                    {"records", s.records},
                    {"error", s.error},
                    {"inside", s.inside},
                    {"half_width", s.width},
                    {"nearest", json_of(s.nearest)},
                    {"mfu", json_of(s.mfu)},
                    {"linear", json_of(s.linear)},
                    {"alpha_beta", json_of(s.alpha_beta)}});
  }
  return rows;
}

}  // namespace lockstep::sim::validation
