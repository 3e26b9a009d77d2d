#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/base/file_format.hpp"
#include "engine/base/study.hpp"
#include "engine/base/text.hpp"
#include "engine/sync/algorithm.hpp"
#include "sim/convergence/build.hpp"

namespace lockstep::sim::convergence {
namespace {

namespace fs = std::filesystem;

const Range kAny{0, 1e15};
constexpr const char* kProfileSchema = "lockstep/convergence/1";

struct Evaluation {
  double iterations;
  double accuracy;
};

std::vector<Evaluation> read_evaluations(const JsonNode& record) {
  std::vector<Evaluation> evaluations;
  for (const JsonNode& entry : record.at(record.has("evaluations") ? "evaluations" : "epochs").items()) {
    const Evaluation evaluation{entry.at("iterations").number({1, 1e15}), entry.at("test_accuracy").number({0, 1})};
    if (!evaluations.empty() && evaluation.iterations <= evaluations.back().iterations)
      entry.at("iterations").fail("do not rise");
    evaluations.push_back(evaluation);
  }
  return evaluations;
}

/// Reads the noise scale of each evaluation that has one; without evaluations, of each epoch.
std::vector<NoiseStretch> read_noise(const JsonNode& record) {
  std::vector<NoiseStretch> stretches;
  for (const JsonNode& entry : record.at(record.has("evaluations") ? "evaluations" : "epochs").items()) {
    const auto noise = entry.find("noise_scale");
    if (!noise) continue;
    NoiseStretch stretch{entry.at("iterations").number({1, 1e15}), std::nullopt, noise->at("low").number(kAny), {}};
    if (noise->at("critical_batch").is_number()) stretch.critical_batch = noise->at("critical_batch").number(kAny);
    if (noise->at("high").is_number()) stretch.high = noise->at("high").number({stretch.low, kAny.high});
    stretches.push_back(stretch);
  }
  return stretches;
}

TrainingSetting read_setting(const JsonNode& options) {
  TrainingSetting setting;
  setting.algorithm = read_choice(options.at("algorithm"), algorithms_with_laws());
  const auto processes = options.find("processes");  // mpirun's processes divide backup workers among them
  const double sharing = processes && setting.algorithm != Algorithm::backup_workers ? processes->number({1, 1e6}) : 1;
  setting.batch = options.at("batch").number({1, 1e6});
  setting.workers = sharing * options.at("gpus").number({1, 1e6}) * options.at("learners").number({1, 1e6});
  if (setting.algorithm == Algorithm::async_sgd) {  // all replicas compute one stale gradient together
    setting.batch *= setting.workers;
    setting.workers = 1;
  }
  if (const auto tuned = options.find("auto_tune"); tuned && tuned->boolean())
    tuned->fail("the number of learners changed during the run: it has no law");
  if (const auto average = options.find("moving_average"))
    average->fail("a moving average of the parameters was evaluated, not the parameters: it has no law");
  if (const auto tau = options.find("tau")) {
    if (!tau->is_number()) tau->fail("is no number of iterations: learners that never synchronise have no law");
    setting.tau = tau->number({1, 1e6});
  }
  if (const auto staleness = options.find("staleness")) setting.staleness = staleness->number(kAny);
  return setting;
}

// The reason why no law can use the run; empty if one can.
std::string why_no_law(const JsonNode& options) {
  const Algorithm algorithm = read_choice<Algorithm>(options.at("algorithm"));
  const std::vector<Algorithm>& known = algorithms_with_laws();
  if (std::find(known.begin(), known.end(), algorithm) == known.end())
    return "no law of convergence is known for " + name_of(algorithm);
  if (const auto tuned = options.find("auto_tune"); tuned && tuned->boolean())
    return "the number of learners changed during the run";
  if (options.find("moving_average")) return "a moving average of the parameters was evaluated, not the parameters";
  if (const auto tau = options.find("tau"); tau && !tau->is_number()) return "its learners never synchronise";
  return "";
}

/// The iterations at which the test error crosses the target's, log-linear between two evaluations.
double crossing(const Evaluation& before, const Evaluation& after, double target) {
  const double least = 1e-6;  // an error of 0 has no logarithm
  const double from = std::log(1 - before.accuracy), to = std::log(std::max(1 - after.accuracy, least));
  const double at = std::log(std::max(1 - target, least));
  return before.iterations + (from - at) / (from - to) * (after.iterations - before.iterations);
}

TargetReached reached_of(const std::vector<Evaluation>& evaluations, double target) {
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    if (evaluations[i].accuracy < target) continue;
    if (i == 0) return {true, evaluations[0].iterations, 0};
    return {true, crossing(evaluations[i - 1], evaluations[i], target), evaluations[i - 1].iterations};
  }
  return {false, evaluations.empty() ? 0 : evaluations.back().iterations, 0};
}

/// The files at or below `path` that may hold records; without those of a search.
std::vector<std::string> files_of(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (auto entry = fs::recursive_directory_iterator(path); entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory() && entry->path().filename() == "search") entry.disable_recursion_pending();
    const std::string file = entry->path().string();
    if (entry->is_regular_file() && (entry->path().extension() == ".json" || is_study(file))) files.push_back(file);
  }
  return files;
}

bool is_of_search(const StudyLine& line, const std::string& study) {
  const fs::path search = fs::path(study).replace_extension() / "search" / "";
  return line.file.rfind(search.string(), 0) == 0;
}

/// All documents at `path`, sorted by file name. A study is sorted like the folder that it was made from.
std::vector<StudyLine> documents_of(const std::string& path) {
  std::vector<StudyLine> documents;
  for (const std::string& file : files_of(path)) {
    if (fs::path(file).extension() != ".jsonl") {
      documents.push_back({file, JsonDocument::load(file)});
      continue;
    }
    for (StudyLine& line : load_study(file))
      if (!is_of_search(line, file)) documents.push_back(std::move(line));
  }
  std::sort(documents.begin(), documents.end(), [](const StudyLine& a, const StudyLine& b) { return a.file < b.file; });
  return documents;
}

std::string target_name(double accuracy) {
  return short_number(100 * accuracy) + " % test accuracy";
}

void same(const JsonNode& node, const std::string& value, const std::string& before) {
  if (value != before) node.fail(in_quotes(value) + " beside " + in_quotes(before), "allowed: runs of one kind");
}

void merge_facts(const JsonNode& record, ConvergenceProfile& profile) {
  const std::string model = record.at("model").at("name").text();
  const std::string data = record.at("data").at("name").text();
  const double images = record.at("data").at("train_images").number({1, 1e12});
  if (profile.model.empty()) {
    profile.model = model;
    profile.data = data;
    profile.train_samples = images;
  }
  same(record.at("model").at("name"), model, profile.model);
  same(record.at("data").at("name"), data, profile.data);
  same(record.at("data").at("train_images"), short_number(images), short_number(profile.train_samples));
}

std::vector<TargetAccuracy> named(const std::vector<double>& targets) {
  std::vector<TargetAccuracy> result;
  for (const double target : targets) result.push_back({target_name(target), target});
  return result;
}

void add_record(const std::string& file, const JsonNode& record, ConvergenceProfile& profile) {
  if (!record.has("model")) return;  // the run failed at its start
  merge_facts(record, profile);
  std::string cell = fs::path(file).parent_path().filename().string();
  if (cell.empty()) cell = fs::path(file).stem().string();
  const std::string source = fs::path(file).lexically_normal().string();
  if (const std::string why = why_no_law(record.at("options")); !why.empty()) {
    profile.runs_without_law.push_back({cell, record.at("options").at("algorithm").text(), why, source});
    return;
  }
  ProfileRun run = run_of_record(record, cell, profile.targets);
  run.source = source;
  const auto is_same = [&](const ProfileRun& other) { return other.source == run.source; };
  if (std::any_of(profile.runs.begin(), profile.runs.end(), is_same))
    throw InputError(one_line(file + ": counted twice; allowed: each record once"));
  profile.runs.push_back(run);
}

std::vector<std::string> names_with_laws() {
  std::vector<std::string> names;
  for (Algorithm algorithm : algorithms_with_laws()) names.push_back(name_of(algorithm));
  return names;
}

/// Returns the targets of the first sweep among the documents.
std::vector<double> targets_of_sweeps(const std::vector<StudyLine>& documents) {
  std::vector<double> targets;
  for (const StudyLine& line : documents) {
    const JsonNode root = line.document.root();
    if (root.at("schema").text() != kSweepResultSchema) continue;
    if (const auto own = root.at("sweep").find("targets"))
      for (const JsonNode& target : own->items()) targets.push_back(target.number({1e-6, 1}));
    break;
  }
  return targets;
}

}  // namespace

ProfileRun run_of_record(const JsonNode& record, const std::string& cell, const std::vector<TargetAccuracy>& targets) {
  record.at("schema").choice({kRunSchema});
  const JsonNode options = record.at("options");
  ProfileRun run;
  run.cell = cell;
  run.setting = read_setting(options);
  run.seed = static_cast<std::uint64_t>(options.at("seed").integer(0, std::int64_t{1} << 62));
  run.learning_rate = options.at("learning_rate").number({0, 1e6});
  run.is_diverged = record.at("status").text() == "diverged";
  const std::vector<Evaluation> evaluations = read_evaluations(record);
  for (const TargetAccuracy& target : targets) run.targets.push_back(reached_of(evaluations, target.accuracy));
  run.noise = read_noise(record);
  run.source = record.document().name();
  return run;
}

ConvergenceProfile profile_of(const std::vector<std::string>& paths, const ProfileRequest& request) {
  std::vector<StudyLine> documents;
  for (const std::string& path : paths)
    for (StudyLine& line : documents_of(path)) documents.push_back(std::move(line));
  ConvergenceProfile profile;
  profile.targets = named(request.targets.empty() ? targets_of_sweeps(documents) : request.targets);
  for (const auto& [file, document] : documents) {
    const JsonNode root = document.root();
    const std::string schema = root.at("schema").text();
    if (schema == kProfileSchema) {
      if (std::count(paths.begin(), paths.end(), file) == 0) continue;  // this profile was made from the same records
      if (!profile.runs.empty())
        root.at("schema").fail("a profile after other runs", "allowed: one profile, named first");
      if (!request.targets.empty())
        root.at("targets").fail("the profile has its own, and its runs none beside them", "allowed: no --targets");
      profile = convergence_profile_from_json(root);
      profile.fits.clear();
    } else if (schema == kRunSchema) {
      if (profile.targets.empty())
        profile.targets = named({root.at("target").is_number() ? root.at("target").number({1e-6, 1}) : 0.99});
      add_record(file, root, profile);
    }
  }
  if (profile.runs.empty() && !profile.runs_without_law.empty())
    throw InputError(one_line(paths.front() + ": none of the " + std::to_string(profile.runs_without_law.size()) +
                              " runs can be fitted; the first: " + profile.runs_without_law.front().why +
                              "; allowed: also runs of " + joined(names_with_laws())));
  if (profile.runs.empty() && !paths.empty()) refuse_known_format(paths.front());
  if (profile.runs.empty())
    throw InputError((paths.empty() ? std::string("convergence") : paths.front()) +
                     ": no record of a run; allowed: records of train, or their folders");
  if (!request.name.empty() || profile.name.empty())
    profile.name = request.name.empty() ? profile.model + " on " + profile.data : request.name;
  if (profile.source.empty())
    profile.source = std::to_string(profile.runs.size()) + " runs of train; each names its record";
  for (const std::string& cell : request.held_out) {
    const auto is_of_cell = [&](const ProfileRun& run) { return run.cell == cell; };
    if (std::none_of(profile.runs.begin(), profile.runs.end(), is_of_cell))
      throw InputError("--hold-out: no run of cell " + in_quotes(cell) + "; allowed: the folders of the records");
    for (ProfileRun& run : profile.runs) run.is_held_out = run.is_held_out || run.cell == cell;
  }
  return profile;
}

}  // namespace lockstep::sim::convergence
