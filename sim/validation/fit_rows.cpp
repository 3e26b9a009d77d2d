#include "sim/validation/fit_rows.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/process_pool.hpp"
#include "sim/quantity/calendar.hpp"
#include "sim/stack/stack_model.hpp"
#include "sim/validation/fit.hpp"
#include "sim/validation/sources.hpp"

namespace lockstep::sim {
inline namespace validation {
namespace {

constexpr int kMostGpusOfRate = 64;    // rates on more GPUs depend on the network, too
constexpr double kDifference = -0.05;  // step of a logarithm, for derivatives
// Step in both directions for the shares of links and networks. NCCL takes bandwidths in steps of a fifth, between
// which a prediction does not change. A downward step alone would mislead if something else limits an all-reduce:
// half of the network would then be the limit. The record would thus seem to show that the network is as fast as
// assumed.
constexpr double kDifferenceOfShares = 0.25;
constexpr std::size_t kRowsOfTask = 32;  // few, so that few networks are in memory at a time

bool is_rate_alone(const Record& job) {
  const bool is_alone = job.gpus == 1 || (job.is_mlperf() && job.gpus <= kMostGpusOfRate);
  return is_alone && (job.measure.metric == Metric::images_per_s || job.measure.metric == Metric::iteration_s);
}

// A whole training of a language model; its other constants are those of rates.
bool is_whole_training(const Record& job) {
  return job.use == Use::apart && job.measure.tokens > 0;
}

bool is_epochs(const Record& job) {
  return job.measure.metric == Metric::epochs_to_accuracy;
}

bool is_exchange(const Record& job) {
  const Metric metric = job.measure.metric;
  return (is_of_collective(metric) && metric != Metric::algorithm_bandwidth) || metric == Metric::communication_s;
}

bool is_scaling(const Record& job) {
  const Metric metric = job.measure.metric;
  const bool is_wanted = metric == Metric::images_per_s || metric == Metric::scaling_efficiency;
  return job.gpus > 1 && job.role == Role::target && is_wanted && !job.is_mlperf();
}

bool is_training(const Record& job) {
  const Metric metric = job.measure.metric;
  return job.role == Role::target && (metric == Metric::time_to_accuracy_s || metric == Metric::training_s);
}

// True if a rate depends on the decoding of images. Rates of several GPUs do, those of one GPU do not.
bool is_of_input(const Record& job) {
  return job.decodes_on_host && job.role == Role::target && job.measure.metric == Metric::images_per_s && job.gpus > 1;
}

// True for the rate of a transformer that is split over GPUs. Forward and backward passes take most of its
// time.
bool is_replica_rate(const Record& job) {
  const Metric metric = job.measure.metric;
  const bool is_rate = metric == Metric::images_per_s || metric == Metric::iteration_s || is_of_flops(metric);
  return is_rate && is_split(job) && job.role == Role::target;
}

const std::vector<FitKind>& kinds() {
  static const std::vector<FitKind> all{
      {"whole trainings", {quantity::kTrainingOverFastest}, is_whole_training, false},
      {"inputs", {kDecodedImages}, is_of_input, true},
      {"replicas",
       {"kernel launch", "host launch", "speed", kSlowdownByExchanges, kAllToAllShare},
       is_replica_rate,
       false,
       0.5},
      {"rates", {"kernel launch", "host launch", "speed", "memory speed"}, is_rate_alone, false},
      {"epochs", {"epochs at small batch", "critical batch"}, is_epochs, true},
      {"exchanges",
       {"link share", "network share", "network hop", "call", "message", "host copies"},
       is_exchange,
       false},
      {"scaling", {"jitter", "network share/tcp"}, is_scaling, true},
      {"trainings", {kTrainingOverBenchmark}, is_training, true, 0, {kEvaluationShare}}};
  return all;
}

const FitKind* kind_of(const Record& job) {
  for (const FitKind& kind : kinds())
    if (job.value && *job.value > 0 && kind.has(job)) return &kind;
  return nullptr;
}

bool is_one_of(const std::vector<std::string>& prefixes, const std::string& name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.rfind(prefix, 0) == 0; });
}

bool may_move(const FitKind& kind, const Chain& chain, bool has_rates) {
  return is_one_of(kind.prefixes, chain.back()) || (has_rates && is_one_of(kind.with_rate, chain.back()));
}

std::vector<double> differences_of(const Chain& chain) {
  if (is_one_of({"link share", "network share"}, chain.back())) return {-kDifferenceOfShares, kDifferenceOfShares};
  return {kDifference};
}

Catalogue with_moved(const Catalogue& catalogue, const Chain& chain, double by) {
  Catalogue there = catalogue;
  if (chain.empty()) return there;
  Constant& factor = there.constants[chain.front()];
  factor.value = (factor.value > 0 ? factor.value : 1) * std::exp(by);
  return there;
}

}  // namespace

double FitRow::moved() const {
  double most = 0;
  for (const auto& [chain, slope] : slopes) most = std::max(most, std::abs(slope));
  return std::min(1.0, most);
}

double effect_of(const Catalogue& catalogue, const std::string& constant) {
  const auto found = catalogue.constants.find(constant);
  return found == catalogue.constants.end() ? 0 : std::log(found->second.value);
}

FitRows::FitRows(const Catalogue& catalogue, const std::vector<Record>& records, int jobs)
    : records_(fit_input(records)), jobs_at_a_time_(jobs) {
  for (const Record& record : records_)
    jobs_.push_back(std::make_shared<const Record>(resolve_target(record, catalogue)));
  given_ = given_results(records_, catalogue);
  for (const std::shared_ptr<const Record>& job : jobs_)
    if (const FitKind* kind = kind_of(*job)) rows_.push_back({job, kind, job->whole_source});
}

std::vector<std::string> FitRows::sources() const {
  std::set<std::string> all;
  for (const FitRow& row : rows_) all.insert(row.source);
  return {all.begin(), all.end()};
}

// Predicts the rows in the calling process.
std::string FitRows::answers_text(const Task& task, const Catalogue& catalogue) const {
  const Catalogue there = with_moved(catalogue, task.moved, task.by);
  std::vector<std::shared_ptr<const Record>> jobs;
  for (const FitRow* row : task.rows) jobs.push_back(row->job);
  MapOptions options;
  options.fidelity = Fidelity::analytic;    // thousands of runs per round; close to the default fidelity
  options.clamps_constants = task.by <= 0;  // if clamped at its limit, a constant would seem to have half of its slope
  options.use_rates = options.use_anchors = task.rows.front()->kind->use_rates;
  Json answers = Json::array();
  const std::vector<Prediction> predictions = predict_resolved(jobs, given_, there, {0, false}, options);
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const Prediction& p = predictions[i];
    Json chains = Json::array();
    for (const auto& [specific, chain] : p.task.asked_for)
      if (may_move(*task.rows[i]->kind, chain, p.task.has_rates())) chains.push_back(chain);
    answers.push_back({p.is_mapped() && p.predicted > 0 ? p.predicted : 0, chains});
  }
  return answers.dump();
}

std::vector<std::vector<FitRows::Answer>> FitRows::answers_of(const std::vector<Task>& tasks,
                                                              const Catalogue& catalogue) const {
  const std::vector<std::string> texts = in_shared_processes(
      tasks.size(), jobs_at_a_time_, [&](std::size_t i) { return answers_text(tasks[i], catalogue); }, "slopes");
  std::vector<std::vector<Answer>> all;
  for (const std::string& text : texts) {
    all.emplace_back();
    for (const Json& answer : Json::parse(text))
      all.back().push_back({answer[0].get<double>(), answer[1].get<std::vector<Chain>>()});
  }
  return all;
}

// Adds separate tasks for rows of kinds that use rates and for rows of other kinds.
void FitRows::add_tasks(std::vector<Task>& tasks, const std::vector<FitRow*>& rows, const Chain& moved, double by) {
  for (const bool use_rates : {false, true}) {
    std::vector<FitRow*> some;
    const auto close = [&] {
      if (!some.empty()) tasks.push_back({std::move(some), moved, by});
      some.clear();
    };
    for (FitRow* row : rows) {
      if (row->kind->use_rates == use_rates) some.push_back(row);
      if (some.size() == kRowsOfTask) close();
    }
    close();
  }
}

void FitRows::linearise(const Catalogue& catalogue) {
  std::vector<FitRow*> rows;
  for (FitRow& row : rows_) rows.push_back(&row);
  std::vector<Task> here, there;
  add_tasks(here, rows, {}, 0);
  std::map<Chain, std::vector<FitRow*>> askers;
  const std::vector<std::vector<Answer>> answers = answers_of(here, catalogue);
  for (std::size_t t = 0; t < here.size(); ++t)
    for (std::size_t i = 0; i < here[t].rows.size(); ++i) {
      FitRow& row = *here[t].rows[i];
      row.slopes.clear();
      row.predicted = answers[t][i].predicted;
      if (!row.is_mapped()) continue;
      row.residual = std::log(*row.job->value / row.predicted);
      for (const Chain& chain : answers[t][i].chains) askers[chain].push_back(&row);
    }
  for (const auto& [chain, of_chain] : askers)
    for (const double by : differences_of(chain)) add_tasks(there, of_chain, chain, by);
  const std::vector<std::vector<Answer>> moved = answers_of(there, catalogue);
  for (std::size_t t = 0; t < there.size(); ++t)
    for (std::size_t i = 0; i < there[t].rows.size(); ++i) {
      FitRow& row = *there[t].rows[i];
      if (!(moved[t][i].predicted > 0)) continue;
      const double slope = std::log(moved[t][i].predicted / row.predicted) / there[t].by;
      row.slopes[there[t].moved] += slope / static_cast<double>(differences_of(there[t].moved).size());
    }
}

}  // namespace validation
}  // namespace lockstep::sim
