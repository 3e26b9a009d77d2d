// Imports logs of whole trainings: published results and runs to a target. They are not profiles.
#include <cstdio>
#include <filesystem>

#include "calib/command/commands.hpp"
#include "calib/import/event_file.hpp"
#include "calib/import/log_text.hpp"
#include "calib/import/mlperf.hpp"
#include "calib/import/training_log.hpp"
#include "engine/base/atomic_file.hpp"
#include "engine/base/json_file.hpp"
#include "engine/base/outputs.hpp"
#include "engine/base/units.hpp"

namespace lockstep::calib {
namespace {

// Parses KEY=VALUE, where VALUE is a number, true, false, or a text.
Json facts_of(const ImportRequest& request) {
  Json facts = Json::object();
  if (!request.torch.model.empty()) facts["model"] = request.torch.model;
  for (const std::string& fact : request.facts) {
    const std::size_t equals = fact.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == fact.size())
      throw InputError("--fact " + fact + ": not a fact; allowed: KEY=VALUE, such as gpu=H100");
    const std::string text = fact.substr(equals + 1);
    const Json value = Json::parse(text, nullptr, false);
    facts[fact.substr(0, equals)] = value.is_number() || value.is_boolean() ? value : Json(text);
  }
  return facts;
}

}  // namespace

int import_results(const ImportRequest& request) {
  const std::string convergence = std::filesystem::path(request.output).replace_extension(".convergence.json").string();
  check_outputs({request.output, convergence}, request.files);
  MlperfOptions options{request.torch.model, request.target, request.nccl.ranks, request.results_source, Json()};
  if (!request.system.empty()) {
    const JsonDocument system = JsonDocument::load(request.system);
    if (!system.root().is_object()) system.root().fail("is no object", "allowed: a system's description of MLPerf");
    options.system = system.json();
  }
  std::vector<std::pair<std::string, std::string>> logs;
  for (const std::string& path : request.files) logs.emplace_back(log_text(path), path);
  const MlperfResults results = import_mlperf(logs, options);
  for (const std::string& line : results.said) std::fprintf(stderr, "calibrate: %s\n", line.c_str());
  write_file_atomically(request.output, results.records.dump(1) + "\n");
  std::printf("%s: %zu results of %zu runs, for simulate --predict\n", request.output.c_str(), results.records.size(),
              logs.size());
  if (results.convergence.is_null()) return 0;
  write_file_atomically(convergence, results.convergence.dump(1) + "\n");
  std::printf("%s: runs to %s, for simulate convergence\n", convergence.c_str(),
              results.convergence["targets"][0]["name"].get<std::string>().c_str());
  return 0;
}

int import_trainings(const ImportRequest& request) {
  check_outputs({request.output}, request.files);
  const Json facts = facts_of(request);
  Json records = Json::array();
  for (const std::string& path : request.files) {
    const TrainingLog log = read_training_file(path, request.program, facts);
    for (const std::string& line : log.said) std::fprintf(stderr, "calibrate: %s: %s\n", path.c_str(), line.c_str());
    records.push_back(training_record(log, request.results_source.empty() ? "training logs" : request.results_source));
    const std::optional<double> seconds = log.step_seconds();
    std::printf("%s: %s, %s; %s\n", path.c_str(), log.format.c_str(),
                seconds ? (format_seconds(*seconds) + " a step").c_str() : "a rate",
                steady_text(log.steady, log.unit != StepUnit::step).c_str());
  }
  write_json_atomically(request.output, records, 1);
  std::printf("%s: %zu records, for simulate --predict\n", request.output.c_str(), records.size());
  return 0;
}

}  // namespace lockstep::calib
