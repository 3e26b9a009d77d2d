#include "sim/validation/suite.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "engine/base/format_printf.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/validation/measure.hpp"
#include "sim/validation/sources.hpp"

namespace lockstep::sim::validation {
namespace {

// Sets the record's whole source. Without a table, each citation is a source of its own.
void set_whole_source(const JsonNode& node, const std::optional<SourceTable>& sources, Record& record) {
  if (!sources) return;
  const auto found = sources->find(record.source);
  if (found == sources->end())
    node.fail("the source " + in_quotes(record.source) + " is not in sources.json", "allowed: add it there");
  record.whole_source = found->second;
}

Suite read_suite(const std::string& path, const std::optional<SourceTable>& sources) {
  const JsonDocument document = JsonDocument::load(path);
  const JsonNode root = document.root();
  root.keys({"schema", "name", "description", "tolerances", "records"});
  root.at("schema").choice({"lockstep/suite/1"});
  Suite suite;
  suite.name = root.at("name").text();
  suite.description = root.at("description").text();
  const JsonNode tolerances = root.at("tolerances");
  tolerances.keys({"median_error", "coverage", "median_width", "why"});
  suite.tolerances = {tolerances.at("median_error").number({0, 10}), tolerances.at("coverage").number({0, 1}),
                      tolerances.at("median_width").number({0, 10})};
  const JsonNode records = root.at("records");
  suite.records = read_records(records, BadRecords::keep);
  const std::vector<JsonNode> nodes = records.items();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Record& record = suite.records[i];
    if (!record.refused.empty()) continue;
    set_whole_source(nodes[i], sources, record);
    const bool is_given = record.use == Use::given;
    if (record.use == Use::none || is_given != (record.role == Role::input))
      nodes[i].fail("\"use\" does not fit \"role\"", "allowed: given for an input, fit, test or apart for a target");
    const bool is_ruled = record.use == Use::fit || record.use == Use::test;
    if (is_ruled && record.use != use_by_rule(record.group))
      nodes[i].at("use").fail("not as the hash of the group says", "allowed: " + name_of(use_by_rule(record.group)));
  }
  return suite;
}

double quantile_or_0(const std::vector<double>& values, double share) {
  return values.empty() ? 0 : quantile(values, share);
}

std::string row_of(const std::string& name, const char* use, const Score& score) {
  return format_printf("%-20s %-7s %4d %9d %9s %9s %9s %9s %9s  %s\n", name.c_str(), use, score.predicted,
                       score.unmapped, percent(score.median).c_str(), percent(score.p90).c_str(),
                       percent(score.worst).c_str(), percent(score.coverage).c_str(),
                       percent(score.median_width).c_str(), score.worst_id.c_str());
}

std::string row_if_any(const std::string& name, Use use, const Score& score) {
  const bool is_shown = use != Use::apart || score.predicted + score.unmapped > 0;
  return is_shown ? row_of(name, name_of(use).c_str(), score) : "";
}

Json score_json(const Score& score) {
  return {{"predicted", score.predicted}, {"unmapped", score.unmapped},        {"median_error", score.median},
          {"p90_error", score.p90},       {"worst_error", score.worst},        {"worst_id", score.worst_id},
          {"coverage", score.coverage},   {"median_width", score.median_width}};
}

std::string inputs_of(const Prediction& p) {
  std::map<std::string, int> kinds;
  for (const Assumption& a : p.task.assumptions) ++kinds[a.kind];
  std::string text;
  for (const auto& [kind, count] : kinds) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  return text;
}

}  // namespace

Use use_by_rule(const std::string& group) {
  std::string name = group;
  if (name.size() > 3 && name.compare(name.size() - 3, 3, "-ep") == 0) name.resize(name.size() - 3);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  return hash % 2 == 0 ? Use::fit : Use::test;
}

std::vector<Suite> load_suites(const std::string& given) {
  std::error_code unreadable;
  const bool is_above = std::filesystem::is_directory(given + "/suites", unreadable);
  const std::string folder = is_above ? given + "/suites" : given;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  if (unreadable) throw InputError(folder + ": cannot read: " + unreadable.message());
  if (paths.empty()) throw InputError(folder + ": no suite; allowed: a folder with .json files");
  std::sort(paths.begin(), paths.end());
  const std::optional<SourceTable> sources = load_sources(folder);
  std::vector<Suite> suites;
  std::set<std::string> ids;
  for (const std::string& path : paths) {
    suites.push_back(read_suite(path, sources));
    for (const Record& record : suites.back().records)
      if (record.refused.empty() && !ids.insert(record.id).second)
        throw InputError(path + ": /records: the id " + in_quotes(record.id) + " is in another suite too");
  }
  return suites;
}

std::vector<Record> records_of(const std::vector<Suite>& suites) {
  std::vector<Record> all;
  for (const Suite& suite : suites) all.insert(all.end(), suite.records.begin(), suite.records.end());
  return all;
}

std::vector<Record> records_to_fit(const std::vector<Suite>& suites) {
  std::vector<Record> records;
  for (const Suite& suite : suites)
    for (const Record& record : suite.records)
      if (record.use != Use::apart || measure_by_name(record.metric, record.unit).tokens > 0) records.push_back(record);
  return records;
}

std::vector<Record> with_known_facts(std::vector<Record> records, const std::string& folder) {
  std::error_code unreadable;
  if (!std::filesystem::is_directory(folder, unreadable)) return records;
  std::set<std::string> ids;
  for (const Record& record : records) ids.insert(record.id);
  for (const Record& record : records_of(load_suites(folder)))
    if (record.use == Use::given && ids.count(record.id) == 0) records.push_back(record);
  return records;
}

Score score_of(const std::vector<Prediction>& predictions, Use use) {
  Score score;
  std::vector<double> errors, widths;
  int inside = 0;
  for (const Prediction& p : predictions) {
    if (p.record->use != use) continue;
    if (!p.has_error()) {
      ++score.unmapped;
      continue;
    }
    errors.push_back(std::abs(p.error()));
    widths.push_back((p.high - p.low) / 2 / std::abs(p.predicted));
    inside += p.low <= *p.record->value && *p.record->value <= p.high;
    if (errors.back() < score.worst) continue;
    score.worst = errors.back();
    score.worst_id = p.record->id;
  }
  score.predicted = static_cast<int>(errors.size());
  score.median = quantile_or_0(errors, 0.5);
  score.p90 = quantile_or_0(errors, 0.9);
  score.median_width = quantile_or_0(widths, 0.5);
  score.coverage = errors.empty() ? 0 : double(inside) / static_cast<double>(errors.size());
  return score;
}

std::vector<std::string> SuiteResult::broken() const {
  std::vector<std::string> lines;
  const bool has_test = test.predicted > 0;
  const Score& held = has_test ? test : apart;
  if (held.predicted == 0) return lines;
  const Tolerances& t = tolerances;
  const std::string which = has_test ? " of the test records is " : " of the records scored apart is ";
  const auto line = [&](const char* what, double is, const char* bound, double allowed) {
    lines.push_back(name + ": " + what + which + percent(is) + "; allowed: " + bound + " " + percent(allowed));
  };
  if (held.median > t.median_error) line("the median error", held.median, "at most", t.median_error);
  if (held.coverage < t.coverage) line("the share inside the bounds", held.coverage, "at least", t.coverage);
  if (held.median_width > t.median_width)
    line("the median width of bounds", held.median_width, "at most", t.median_width);
  return lines;
}

std::vector<SuiteResult> results_of(const std::vector<Suite>& suites, std::vector<Prediction> predictions) {
  std::vector<SuiteResult> results;
  std::size_t at = 0;
  for (const Suite& suite : suites) {
    SuiteResult result{suite.name, suite.tolerances, {}, {}, {}, {}};
    for (std::size_t i = targets_of(suite.records).size(); i > 0; --i)
      result.predictions.push_back(std::move(predictions[at++]));
    result.fit = score_of(result.predictions, Use::fit);
    result.test = score_of(result.predictions, Use::test);
    result.apart = score_of(result.predictions, Use::apart);
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<const Record*> targets_of(const std::vector<Suite>& suites) {
  std::vector<const Record*> targets;
  for (const Suite& suite : suites)
    for (const Record* target : targets_of(suite.records)) targets.push_back(target);
  return targets;
}

std::vector<SuiteResult> validate_suites(const std::vector<Suite>& suites, const std::vector<Record>& all,
                                         const Catalogue& catalogue, int jobs) {
  return results_of(suites, predict_records(targets_of(suites), all, catalogue, jobs));
}

std::string family_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::images_per_s:
    case Quantity::iteration_s:
    case Quantity::time_ratio:
    case Quantity::iteration_increase:
    case Quantity::throughput_gain:
      return "throughput";
    case Quantity::staleness:
      return "staleness";
    case Quantity::best_choice:
    case Quantity::needed_choice:
    case Quantity::needed_traffic:
      return "choices";
    case Quantity::iterations:
      return "iterations";
    case Quantity::arrival:
      return "arrivals";
    case Quantity::speedup:
      return "speed-up";
    case Quantity::efficiency:
      return "efficiency";
    case Quantity::samples_time_s:
      return "time to accuracy";
    case Quantity::epochs:
      return "epochs";
    case Quantity::memory:
      return "peak memory";
    default:
      return "all-reduce";
  }
}

std::string family_of(const Prediction& p) {
  const bool is_epoch = p.task.quantity == Quantity::samples_time_s && p.task.epochs == 0;
  return is_epoch ? "throughput" : family_of(p.task.quantity);
}

std::string quantity_table(const std::vector<SuiteResult>& results) {
  std::map<std::string, std::vector<Prediction>> families;
  for (const SuiteResult& result : results)
    for (const Prediction& p : result.predictions)
      if (p.has_error()) families[family_of(p)].push_back(p);
  std::string text;
  for (const auto& [family, predictions] : families)
    for (Use use : {Use::fit, Use::test, Use::apart}) text += row_if_any(family, use, score_of(predictions, use));
  return text;
}

std::string validation_table(const std::vector<SuiteResult>& results, bool with_records) {
  std::string text;
  if (with_records)
    for (const SuiteResult& result : results) {
      text += result.name + "\n";
      for (const Prediction& p : result.predictions) {
        if (!p.is_mapped()) {
          text += format_printf("  %-7s %-52s unmapped: %s\n", name_of(p.record->use).c_str(), p.record->id.c_str(),
                                p.task.unmapped.c_str());
        } else {
          text += format_printf("  %-7s %-52s %-20s %11s published %11s %9s  [%s, %s]  %s\n",
                                name_of(p.record->use).c_str(), p.record->id.c_str(), p.record->metric.c_str(),
                                short_number(p.predicted).c_str(),
                                p.record->value ? short_number(*p.record->value).c_str() : "-",
                                p.has_error() ? percent(p.error()).c_str() : "-", short_number(p.low).c_str(),
                                short_number(p.high).c_str(), inputs_of(p).c_str());
        }
      }
    }
  text += format_printf("%-20s %-7s %4s %9s %9s %9s %9s %9s %9s  %s\n", "suite", "use", "n", "unmapped", "median",
                        "90th", "worst", "inside", "width", "worst record");
  for (const SuiteResult& result : results) {
    text += row_of(result.name, "fit", result.fit);
    text += row_of(result.name, "test", result.test);
    text += row_if_any(result.name, Use::apart, result.apart);
  }
  std::vector<Prediction> all;
  for (const SuiteResult& result : results) all.insert(all.end(), result.predictions.begin(), result.predictions.end());
  text += row_of("all", "fit", score_of(all, Use::fit)) + row_of("all", "test", score_of(all, Use::test));
  text += row_if_any("all", Use::apart, score_of(all, Use::apart));
  text += "by quantity\n" + quantity_table(results);
  for (const SuiteResult& result : results)
    for (const std::string& line : result.broken()) text += "broken: " + line + "\n";
  return text;
}

Json validation_json(const std::vector<SuiteResult>& results) {
  Json suites = Json::array();
  for (const SuiteResult& result : results) {
    Json records = Json::array();
    for (const Prediction& p : result.predictions) {
      Json one{{"id", p.record->id},
               {"use", name_of(p.record->use)},
               {"metric", p.record->metric},
               {"unit", p.record->unit}};
      if (p.record->value) one["published"] = *p.record->value;
      if (!p.is_mapped()) {
        one["unmapped"] = p.task.unmapped;
      } else {
        one["predicted"] = p.predicted;
        one["low"] = p.low;
        one["high"] = p.high;
        if (p.has_error()) one["error"] = p.error();
        Json inputs = Json::array();
        for (const Assumption& a : p.task.assumptions)
          inputs.push_back({{"pointer", a.pointer}, {"value", a.value}, {"kind", a.kind}, {"source", a.source}});
        one["inputs"] = inputs;
      }
      records.push_back(one);
    }
    suites.push_back({{"name", result.name},
                      {"fit", score_json(result.fit)},
                      {"test", score_json(result.test)},
                      {"apart", score_json(result.apart)},
                      {"broken", result.broken()},
                      {"records", records}});
  }
  return {{"schema", "lockstep/validation/1"}, {"suites", suites}};
}

}  // namespace lockstep::sim::validation
