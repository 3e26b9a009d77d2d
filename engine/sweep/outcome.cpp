#include "engine/sweep/outcome.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "engine/base/json_file.hpp"
#include "engine/base/provenance.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/study.hpp"
#include "engine/base/text.hpp"
#include "engine/train/record.hpp"

namespace lockstep::sweep {
namespace {

namespace fs = std::filesystem;

/// Checks that the record has the run's lasting settings. Otherwise its numbers are those of another run.
void check_same_run(const Json& options, const Run& run, const std::string& path) {
  const Json own = train::to_json(run.settings, true);
  for (const auto& [key, value] : own.items()) {
    if (!options.contains(key) || !train::is_same_setting(key, options.at(key), value))
      throw InputError(path + ": holds a run with " + key + " " +
                       (options.contains(key) ? options.at(key).dump() : "unknown") + ", not " + value.dump() +
                       "; allowed: a record of the same sweep, or another folder");
  }
}

bool goes_further(const Json& record, const Run& run) {
  const std::string status = record.at("status");
  const train::Request& r = run.settings.request;
  if (status == "epochs done") return static_cast<int>(record.at("epochs").size()) < r.epochs;
  if (status == "target reached") return !r.target || record.at("target").get<double>() < *r.target;
  return false;
}

State state_of(const Json& record, const Run& run) {
  const std::string status = record.at("status");
  if (status == "diverged") return State::diverged;
  if (status == "failed") return State::failed;
  const bool has_ended = status == "target reached" || status == "epochs done" || status == "time is up";
  return has_ended && !goes_further(record, run) ? State::ended : State::open;
}

const Json& entries_of(const Json& record) {
  return record.contains("evaluations") ? record.at("evaluations") : record.at("epochs");
}

// True if a run ended no more accurate than guessing: at most three standard deviations of a guess's test accuracy above
// 1 / classes. Records of older versions do not tell the classes.
bool is_at_chance(const Json& record) {
  const Json entries = record.is_null() ? Json::array() : entries_of(record);
  if (entries.empty() || !record.contains("data") || !record.at("data").contains("classes")) return false;
  const double chance = 1 / record.at("data").at("classes").get<double>();
  const double images = record.at("data").at("test_images").get<double>();
  const double deviation = std::sqrt(chance * (1 - chance) / std::max(1.0, images));
  return entries.back().at("test_accuracy").get<double>() <= chance + 3 * deviation;
}

Json run_summary(const Records& records, const Run& run, const std::vector<double>& targets) {
  const Outcome outcome = outcome_of(records, run);
  Json entry = {{"file", run.name + ".json"}, {"seed", run.settings.request.seed}};
  entry["status"] = outcome.record.is_null() ? Json("open") : outcome.record.at("status");
  if (outcome.state == State::failed) entry["error"] = outcome.record.value("error", "");
  const Json entries = outcome.record.is_null() ? Json::array() : entries_of(outcome.record);
  entry["iterations"] = entries.empty() ? Json(0) : entries.back().at("iterations");
  entry["epochs"] = entries.empty() ? Json(0) : entries.back().at("epoch");
  entry["test_accuracy"] = entries.empty() ? Json(nullptr) : entries.back().at("test_accuracy");
  entry["at_chance"] =
      (outcome.state == State::ended || outcome.state == State::diverged) && is_at_chance(outcome.record);
  Json reached = Json::array();
  for (const double target : targets) {
    const auto at = train::first_reached(entries, target);
    reached.push_back(at ? Json(at->iterations) : Json(nullptr));
  }
  entry["iterations_to_target"] = reached;
  return entry;
}

bool has_ended(const Json& run) {
  const Json& status = run.at("status");
  return status != "open" && status != "running" && status != "failed";
}

// "  1 of 3 diverged, 2 of 3 ended at chance": runs whose result says nothing about the algorithm.
std::string useless_runs_text(const Json& runs) {
  const auto diverged =
      std::count_if(runs.begin(), runs.end(), [](const Json& run) { return run.at("status") == "diverged"; });
  const auto at_chance = std::count_if(runs.begin(), runs.end(), [](const Json& run) {
    return run.at("status") != "diverged" && run.value("at_chance", false);
  });
  const std::string of = " of " + std::to_string(runs.size());
  std::string text;
  if (diverged > 0) text += std::to_string(diverged) + of + " diverged";
  if (at_chance > 0) text += (text.empty() ? "" : ", ") + std::to_string(at_chance) + of + " ended at chance";
  return text.empty() ? "" : "   " + text;
}

std::string median_text(const std::vector<double>& values, std::size_t of) {
  if (values.empty()) return "-";
  std::string text = short_number(median(values));
  if (values.size() < of) text += " (" + std::to_string(values.size()) + "/" + std::to_string(of) + ")";
  return text;
}

}  // namespace

Records::Records(const std::string& folder) : folder_(folder) {
  const std::string study = study_beside(folder);
  if (!fs::exists(study)) return;
  for (StudyLine& line : load_study(study)) collected_.emplace(line.file, std::move(line.document));
}

std::string Records::path_of(const Run& run, const char* ending) const {
  return (fs::path(folder_) / (run.name + ending)).lexically_normal().string();
}

std::optional<JsonDocument> Records::find(const Run& run) const {
  const std::string path = path_of(run);
  if (fs::exists(path)) return JsonDocument::load(path);
  const auto line = collected_.find(path);
  return line == collected_.end() ? std::nullopt : std::optional<JsonDocument>(line->second);
}

Outcome outcome_of(const Records& records, const Run& run) {
  const std::optional<JsonDocument> document = records.find(run);
  if (!document) return {};
  document->root().at("schema").choice({kRunSchema});
  Outcome outcome;
  outcome.record = document->json();
  try {
    check_same_run(outcome.record.at("options"), run, document->name());
    outcome.state = state_of(outcome.record, run);
    entries_of(outcome.record);
  } catch (const Json::exception&) {
    throw InputError(document->name() + ": is no record of a run; allowed: what train -o writes");
  }
  return outcome;
}

Choice choose_rate(const Records& records, const Cell& cell) {
  if (cell.search.empty()) return {true, cell.chosen_rate};
  Choice choice{true, std::nullopt};
  double best = 0;
  for (std::size_t i = 0; i < cell.search.size(); ++i) {
    const Outcome outcome = outcome_of(records, cell.search[i]);
    if (outcome.state == State::open || outcome.state == State::failed) return {};
    if (outcome.state != State::ended) continue;
    const double accuracy = entries_of(outcome.record).back().at("test_accuracy").get<double>();
    if (accuracy > best) choice.learning_rate = cell.rates[i];
    best = std::max(best, accuracy);
  }
  return choice;
}

void write_failure(const Records& records, const Run& run, const std::string& why) {
  Outcome outcome = outcome_of(records, run);
  Json& record = outcome.record;
  if (record.is_null()) {
    record = {{"schema", kRunSchema}, {"options", train::to_json(run.settings, false)}, {"epochs", Json::array()}};
  }
  record["status"] = "failed";
  record["error"] = why;
  write_json_atomically(records.path_of(run), record, 2);
}

Json summary(const Sweep& sweep, const Records& records, const std::vector<std::string>& argv) {
  Json result = {{"schema", kSweepResultSchema}, {"provenance", provenance(argv, "", sweep.inputs)}};
  result["sweep"] = sweep.document;
  result["cells"] = Json::array();
  for (const Cell& cell : sweep.cells) {
    Json entry = {{"name", cell.name}, {"options", cell.options}, {"search", Json::array()}};
    for (std::size_t i = 0; i < cell.search.size(); ++i) {
      const Json run = run_summary(records, cell.search[i], {});
      entry["search"].push_back({{"learning_rate", cell.rates[i]},
                                 {"file", run.at("file")},
                                 {"status", run.at("status")},
                                 {"test_accuracy", run.at("test_accuracy")}});
    }
    const Choice choice = choose_rate(records, cell);
    entry["learning_rate"] = choice.learning_rate ? Json(*choice.learning_rate) : Json(nullptr);
    entry["runs"] = Json::array();
    const bool can_run = choice.allows_runs_of(cell);
    if (!can_run) entry["without_runs"] = choice.is_made ? "no learning rate of the search learns" : "search is open";
    if (can_run)
      for (const Run& run : runs_of(sweep, cell, choice.learning_rate))
        entry["runs"].push_back(run_summary(records, run, sweep.targets));
    result["cells"].push_back(entry);
  }
  return result;
}

void collect(const Sweep& sweep, const Records& records, const std::vector<std::string>& argv) {
  std::map<std::string, Json> found;
  const auto take = [&](const std::vector<Run>& runs) {
    for (const Run& run : runs)
      if (const Json record = outcome_of(records, run).record; !record.is_null()) found[run.name] = record;
  };
  for (const Cell& cell : sweep.cells) {
    take(cell.search);
    const Choice choice = choose_rate(records, cell);
    if (choice.allows_runs_of(cell)) take(runs_of(sweep, cell, choice.learning_rate));
  }
  write_file_atomically(study_beside(records.folder()), study_text(summary(sweep, records, argv), found));
}

std::string table(const Json& summary) {
  const Json targets = summary.at("sweep").value("targets", Json::array());
  char line[256];
  std::snprintf(line, sizeof line, "%-28s %8s %7s", "cell", "rate", "ended");
  std::string text = line;
  for (const Json& target : targets) {
    std::snprintf(line, sizeof line, " %16s", ("to " + short_number(target.get<double>())).c_str());
    text += line;
  }
  if (targets.empty()) {
    std::snprintf(line, sizeof line, " %16s   (median of the seeds)\n", "test accuracy");
    text += line;
  } else {
    text += "   (iterations: median of the seeds that reached it)\n";
  }
  bool has_useless = false;
  for (const Json& cell : summary.at("cells")) {
    const Json& runs = cell.at("runs");
    const auto ended = std::count_if(runs.begin(), runs.end(), has_ended);
    const std::string rate =
        cell.at("learning_rate").is_null() ? "-" : short_number(cell.at("learning_rate").get<double>());
    std::snprintf(line, sizeof line, "%-28s %8s %7s", cell.at("name").get<std::string>().c_str(), rate.c_str(),
                  (std::to_string(ended) + "/" + std::to_string(runs.size())).c_str());
    text += line;
    const auto add_median = [&](const auto& value_of) {
      std::vector<double> values;
      for (const Json& run : runs)
        if (const Json& value = value_of(run); !value.is_null()) values.push_back(value.get<double>());
      std::snprintf(line, sizeof line, " %16s", median_text(values, runs.size()).c_str());
      text += line;
    };
    for (std::size_t t = 0; t < targets.size(); ++t)
      add_median([&](const Json& run) -> const Json& { return run.at("iterations_to_target").at(t); });
    if (targets.empty()) add_median([](const Json& run) -> const Json& { return run.at("test_accuracy"); });
    const std::string useless = useless_runs_text(runs);
    has_useless = has_useless || !useless.empty();
    text += useless + "\n";
  }
  if (has_useless)
    text += "Runs that diverged or ended at chance did not learn; try a lower learning rate, or \"search\".\n";
  return text;
}

}  // namespace lockstep::sweep
