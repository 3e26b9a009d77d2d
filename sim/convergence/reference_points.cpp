#include "sim/convergence/reference_points.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/base/format_printf.hpp"
#include "engine/base/statistics.hpp"
#include "engine/base/text.hpp"
#include "sim/convergence/build.hpp"

namespace lockstep::sim::convergence {
namespace {

constexpr const char* kSchema = "lockstep/reference-points/1";
constexpr double kFailed = 3;  // above this multiple of its point's median, a run did not converge
const Range kSamples{1, 1e15};

ReferencePoint read_point(const JsonNode& node) {
  node.keys({"rounds", "batch", "learning_rate", "new_settings", "samples", "source"});
  ReferencePoint point;
  for (const JsonNode& round : node.at("rounds").items()) point.rounds.push_back(round.text());
  point.batch = node.at("batch").number(kSamples);
  point.learning_rate = node.at("learning_rate").number({0, 1e6});
  for (const JsonNode& samples : node.at("samples").items()) point.samples.push_back(samples.number(kSamples));
  if (point.samples.empty()) node.at("samples").fail("empty list", "allowed: the samples of each seed");
  if (const auto settings = node.find("new_settings")) point.new_settings = settings->text();
  point.source = node.at("source").text();
  return point;
}

ReferenceNetwork read_network(const JsonNode& node) {
  node.keys(
      {"network", "model", "suite", "target", "accuracy", "loss", "train_samples", "sequence", "adapters", "points"});
  ReferenceNetwork network;
  network.network = node.at("network").text();
  network.model = node.at("model").json().get<std::string>();
  network.suite = node.at("suite").choice({"training", "hpc"});
  network.target.name = node.at("target").text();
  if (const auto accuracy = node.find("accuracy")) network.target.accuracy = accuracy->number({1e-6, 1});
  if (const auto loss = node.find("loss")) network.target.loss = loss->number({1e-6, 1e3});
  network.train_samples = node.at("train_samples").number({0, 1e12});
  if (const auto sequence = node.find("sequence")) network.sequence = static_cast<int>(sequence->integer(1, 1 << 20));
  if (const auto adapters = node.find("adapters")) network.adapters = adapters->boolean();
  for (const JsonNode& point : node.at("points").items()) network.points.push_back(read_point(point));
  return network;
}

std::string batch_cell(double batch) {
  return "batch " + short_number(batch);
}

std::vector<double> converged(const std::vector<double>& samples) {
  const double most = kFailed * median(samples);
  std::vector<double> kept;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(kept), [most](double s) { return s <= most; });
  return kept;
}

void add_runs(const ReferencePoint& point, ConvergenceProfile& profile) {
  for (const double samples : converged(point.samples)) {
    ProfileRun run;
    run.cell = batch_cell(point.batch);
    run.setting.batch = point.batch;
    run.learning_rate = point.learning_rate;
    run.targets.push_back({true, samples / point.batch, 0});
    run.source = point.source;
    profile.runs.push_back(run);
  }
}

ConvergenceProfile profile_of_points(const ReferenceNetwork& network, const std::vector<ReferencePoint>& points) {
  ConvergenceProfile profile;
  profile.name = "MLPerf's reference runs of " + network.network;
  profile.model = network.model.empty() ? network.network : network.model;
  profile.data = "of MLPerf " + network.suite;
  profile.train_samples = network.train_samples > 0 ? network.train_samples : 1e6;
  profile.kind = "published";
  profile.source = "MLCommons' reference convergence points (github:mlcommons/logging, mlperf_logging/rcp_checker)";
  profile.targets.push_back(network.target);
  for (const ReferencePoint& point : points) add_runs(point, profile);
  fit_profile(profile);
  return profile;
}

const ConvergenceFit& fit_of(const ConvergenceProfile& profile) {
  const ConvergenceFit* fit = profile.fit(Algorithm::s_sgd, "batch", 0);
  if (fit == nullptr) throw std::invalid_argument(profile.name + ": too few points for a law");
  return *fit;
}

void add_cells(const std::vector<LeftOutCell>& cells, ReferenceCheck& check) {
  for (const LeftOutCell& cell : cells) {
    check.errors.push_back(std::abs(cell.predicted.iterations / cell.measured - 1));
    check.runs += cell.runs;
    check.inside += cell.inside;
  }
}

ConvergenceProfile with_held_out(ConvergenceProfile profile, const ReferencePoint& point) {
  const std::size_t from = profile.runs.size();
  add_runs(point, profile);
  for (std::size_t i = from; i < profile.runs.size(); ++i) {
    profile.runs[i].cell += " of a newer round";
    profile.runs[i].is_held_out = true;
  }
  return profile;
}

std::vector<int> version_of(const std::string& round) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < round.size(); ++at) {
    numbers.push_back(std::stoi(round.substr(at)));
    at = std::min(round.find('.', at), round.size());
  }
  return numbers;
}

std::vector<int> first_round(const ReferencePoint& point) {
  std::vector<int> first = version_of(point.rounds.front());
  for (const std::string& round : point.rounds) first = std::min(first, version_of(round));
  return first;
}

}  // namespace

double ReferenceCheck::median_error() const {
  return errors.empty() ? 0 : median(errors);
}

std::vector<ReferenceNetwork> load_reference_points(const std::string& path) {
  const JsonDocument document = JsonDocument::load(path);
  document.root().keys({"schema", "description", "networks"});
  document.root().at("schema").choice({kSchema});
  std::vector<ReferenceNetwork> networks;
  for (const JsonNode& node : document.root().at("networks").items()) networks.push_back(read_network(node));
  return networks;
}

ConvergenceProfile reference_profile(const ReferenceNetwork& network) {
  return profile_of_points(network, network.points);
}

ReferenceSamples samples_to_target(const ConvergenceProfile& profile, double batch) {
  const ConvergenceFit& fit = fit_of(profile);
  const double x = std::max(batch, fit.from_x);
  const IterationsBound bound = predict(fit.law, x, profile.coverage);
  return {bound.iterations * x, bound.low * x, bound.high * x};
}

ReferenceCheck check_batches(const ConvergenceProfile& profile) {
  ReferenceCheck check;
  add_cells(check_one_by_one(profile), check);
  return check;
}

NewerRounds check_newer_rounds(const ReferenceNetwork& network) {
  std::map<std::vector<int>, std::vector<ReferencePoint>> by_round;
  for (const ReferencePoint& point : network.points) by_round[first_round(point)].push_back(point);
  NewerRounds checks;
  std::vector<ReferencePoint> before;
  for (const auto& [round, added] : by_round) {
    if (!before.empty()) {
      const ConvergenceProfile profile = profile_of_points(network, before);
      for (const ReferencePoint& point : added)
        add_cells(check_held_out(with_held_out(profile, point)),
                  point.new_settings.empty() ? checks.same_settings : checks.new_settings);
    }
    before.insert(before.end(), added.begin(), added.end());
  }
  return checks;
}

const ReferenceNetwork& find_network(const std::vector<ReferenceNetwork>& networks, const std::string& name) {
  std::vector<std::string> names;
  for (const ReferenceNetwork& network : networks) {
    if (network.network == name) return network;
    names.push_back(network.network);
  }
  throw InputError("--mlperf " + in_quotes(name) +
                   ": no reference points of such a network; allowed: " + joined(names) + ", all");
}

namespace {

// One line for each point whose settings a newer round changed.
std::string new_settings_text(const ReferenceNetwork& network, const NewerRounds& newer) {
  std::string text;
  std::size_t i = 0;
  for (const ReferencePoint& point : network.points) {
    if (point.new_settings.empty() || i >= newer.new_settings.errors.size()) continue;
    text += "Not counted, because its settings are new: " + network.network + " at batch " + short_number(point.batch) +
            " from round " + point.rounds.front() + " on " + point.new_settings +
            format_printf("; older rounds miss it by %.0f %%.\n", 100 * newer.new_settings.errors[i++]);
  }
  return text;
}

}  // namespace

std::string reference_checks_text(const std::vector<ReferenceNetwork>& networks) {
  std::string text = format_printf("%-17s %6s %6s  %15s %7s  %15s %7s\n", "network", "points", "runs",
                                   "by other batches", "inside", "by older rounds", "inside");
  ReferenceCheck all_batches, all_rounds;
  std::string changed;
  const auto cells = [](const ReferenceCheck& check) {
    return check.errors.empty()
               ? format_printf("  %15s %7s", "-", "-")
               : format_printf("  %13.1f %% %5.0f %%", 100 * check.median_error(), 100.0 * check.inside / check.runs);
  };
  const auto add = [](const ReferenceCheck& one, ReferenceCheck& all) {
    all.errors.insert(all.errors.end(), one.errors.begin(), one.errors.end());
    all.runs += one.runs;
    all.inside += one.inside;
  };
  for (const ReferenceNetwork& network : networks) {
    const ConvergenceProfile profile = reference_profile(network);
    const ReferenceCheck batches = check_batches(profile);
    const NewerRounds newer = check_newer_rounds(network);
    const ReferenceCheck& rounds = newer.same_settings;
    add(batches, all_batches);
    add(rounds, all_rounds);
    changed += new_settings_text(network, newer);
    text += format_printf("%-17s %6zu %6zu", network.network.c_str(), network.points.size(), profile.runs.size()) +
            cells(batches) + cells(rounds) + "\n";
  }
  return text + format_printf("%-31s", "all") + cells(all_batches) + cells(all_rounds) +
         "\nMedian error of a point's samples to the target; inside: runs within the 80 % interval.\n" + changed;
}

const std::vector<ReferenceNetwork>& ReferenceFile::networks() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (networks_.empty()) networks_ = load_reference_points(path_);
  return networks_;
}

const ReferenceNetwork* ReferenceFile::network_of_model(const std::string& model) {
  for (const ReferenceNetwork& network : networks())
    if (!network.model.empty() && model.rfind(network.model, 0) == 0) return &network;
  return nullptr;
}

const ConvergenceProfile* ReferenceFile::profile_of_model(const std::string& model) {
  const ReferenceNetwork* const network = network_of_model(model);
  if (network == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = profiles_.find(network->network);
  if (found != profiles_.end()) return &found->second;
  return &profiles_.emplace(network->network, reference_profile(*network)).first->second;
}

}  // namespace lockstep::sim::convergence
