#include "sim/records/fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/text.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/mixed_effects.hpp"
#include "sim/records/run.hpp"
#include "sim/records/sources.hpp"
#include "sim/records/usual.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr int kMostGpusOfRate = 64;  // whose rate says how fast a GPU is, not its network
constexpr int kRounds = 6;           // of the linearisation
constexpr double kMostStep = 0.7;    // of an effect in the first of them; then a half, a third, ...
constexpr double kSettled = 0.02;
constexpr double kDifference = 0.05;      // of a logarithm, for derivatives
constexpr double kNoise = 0.07;           // of a record among those of its source, GPU and network
constexpr double kOfSource = 0.15;        // what its records have in common
constexpr double kOfSourceAndOne = 0.10;  // and those of one GPU, or one network, besides

struct Kind {
  const char* name;
  std::vector<std::string> prefixes;  ///< of the constants that it may move
  bool (*has)(const JobSpec&);
  bool use_rates;
};

bool is_rate_alone(const JobSpec& job) {
  const bool is_alone = job.gpus == 1 || (job.is_mlperf() && job.gpus <= kMostGpusOfRate);
  return is_alone && (job.measure.metric == Metric::images_per_s || job.measure.metric == Metric::iteration_s);
}

bool is_epochs(const JobSpec& job) {
  return job.measure.metric == Metric::epochs_to_accuracy;
}

bool is_exchange(const JobSpec& job) {
  const Metric metric = job.measure.metric;
  return (is_of_collective(metric) && metric != Metric::algorithm_bandwidth) || metric == Metric::communication_s;
}

bool is_scaling(const JobSpec& job) {
  const Metric metric = job.measure.metric;
  const bool is_wanted = metric == Metric::images_per_s || metric == Metric::scaling_efficiency;
  return job.gpus > 1 && job.role == Role::target && is_wanted && !job.is_mlperf();
}

bool is_training(const JobSpec& job) {
  const Metric metric = job.measure.metric;
  return job.role == Role::target && (metric == Metric::time_to_accuracy_s || metric == Metric::training_s);
}

// Of a transformer on as many GPUs as the source has: its passes are most of the time.
bool is_replica_rate(const JobSpec& job) {
  const Metric metric = job.measure.metric;
  const bool is_rate = metric == Metric::images_per_s || metric == Metric::iteration_s || is_of_flops(metric);
  return is_rate && is_split(job) && job.role == Role::target;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"replicas", {"kernel launch", "host launch", "speed"}, is_replica_rate, false},
      {"rates", {"kernel launch", "host launch", "speed", "memory speed"}, is_rate_alone, false},
      {"epochs", {"epochs at small batch", "critical batch"}, is_epochs, true},
      {"exchanges",
       {"link share", "network share", "network hop", "call", "message", "host copies"},
       is_exchange,
       false},
      {"scaling", {"jitter", "network share/tcp"}, is_scaling, true},
      {"trainings", {kEvaluationShare}, is_training, true}};
  return all;
}

const Kind* kind_of(const JobSpec& job) {
  for (const Kind& kind : kinds())
    if (job.value && *job.value > 0 && kind.has(job)) return &kind;
  return nullptr;
}

using Chain = std::vector<std::string>;

// A record that is fitted on.
struct Row {
  const JobSpec* job;
  const Kind* kind;
  std::string source;
  double residual = 0;               ///< log(published / predicted)
  std::map<Chain, double> slopes{};  ///< of log(predicted) by the logarithm of a chain's value
  bool is_mapped = false;
};

bool may_move(const Kind& kind, const Chain& chain) {
  return std::any_of(kind.prefixes.begin(), kind.prefixes.end(),
                     [&](const std::string& prefix) { return chain.back().rfind(prefix, 0) == 0; });
}

// Effects by name: of constants, and of what records have in common.
class Names {
 public:
  std::size_t of_constant(const std::string& name, bool is_widest) {
    return add(name, is_widest ? usual_of(name).spread : usual_of(name).spread_of_narrower);
  }
  std::size_t of_source(const std::string& name, double spread) { return add(" " + name, spread); }
  const std::map<std::string, std::size_t>& all() const { return places_; }
  const std::vector<double>& spreads() const { return spreads_; }

 private:
  std::size_t add(const std::string& name, double spread) {
    const auto [found, is_new] = places_.emplace(name, spreads_.size());
    if (is_new) spreads_.push_back(spread);
    return found->second;
  }

  std::map<std::string, std::size_t> places_;
  std::vector<double> spreads_;
};

bool is_constant(const std::string& name) {
  return name.front() != ' ';
}

// What a constant rests on.
struct Support {
  int records = 0;
  std::set<std::string> sources;
};

class Fit {
 public:
  Fit(Catalogue catalogue, const std::vector<Record>& records, int jobs, const Tell& tell)
      : catalogue_(std::move(catalogue)), records_(fit_input(records)), run_{jobs, false}, tell_(tell) {
    catalogue_.constants.clear();
    for (const Record& record : records_) jobs_.push_back(job_of(record, catalogue_));
    given_ = given_jobs(records_, catalogue_);
    for (const JobSpec& job : jobs_)
      if (const Kind* kind = kind_of(job)) rows_.push_back({&job, kind, whole_source(job.source)});
  }

  FittedConstants run() {
    for (int round = 0; round < kRounds; ++round) {
      linearise();
      const auto [name, moved] = step(kMostStep / (1 + round));
      if (tell_)
        tell_("round " + std::to_string(round + 1) + ": the largest change is " + short_number(moved) + ", of " + name);
      if (moved < kSettled) break;
    }
    linearise();
    FittedConstants fitted{solved({}), {}};
    std::set<std::string> sources;
    for (const Row& row : rows_) sources.insert(row.source);
    for (const std::string& source : sources) fitted.without[source] = solved(source);
    return fitted;
  }

 private:
  std::vector<Prediction> predict(const std::vector<Row*>& rows, const Catalogue& catalogue) const {
    std::vector<Prediction> all(rows.size());
    for (const bool use_rates : {false, true}) {
      std::vector<const JobSpec*> jobs;
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i]->kind->use_rates == use_rates) {
          jobs.push_back(rows[i]->job);
          places.push_back(i);
        }
      MapOptions options;
      options.use_rates = options.use_anchors = use_rates;
      std::vector<Prediction> some = predict_jobs(jobs, given_, catalogue, run_, options);
      for (std::size_t j = 0; j < some.size(); ++j) all[places[j]] = std::move(some[j]);
    }
    return all;
  }

  static bool is_usable(const Prediction& p) { return p.is_mapped() && p.predicted > 0; }

  // Residuals where the constants are, and slopes by a difference for one chain after the other.
  void linearise() {
    std::vector<Row*> rows;
    for (Row& row : rows_) rows.push_back(&row);
    const std::vector<Prediction> here = predict(rows, catalogue_);
    std::map<Chain, std::vector<std::pair<Row*, double>>> askers;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row& row = *rows[i];
      row.slopes.clear();
      row.is_mapped = is_usable(here[i]);
      if (!row.is_mapped) continue;
      row.residual = std::log(*row.job->value / here[i].predicted);
      for (const auto& [specific, chain] : here[i].mapped.asked_for)
        if (may_move(*row.kind, chain)) askers[chain].push_back({&row, here[i].predicted});
    }
    for (const auto& [chain, of_chain] : askers) take_slopes(chain, of_chain);
  }

  void take_slopes(const Chain& chain, const std::vector<std::pair<Row*, double>>& askers) {
    Catalogue there = catalogue_;
    Constant& factor = there.constants[chain.front()];
    factor.value = (factor.value > 0 ? factor.value : 1) * std::exp(-kDifference);
    std::vector<Row*> rows;
    for (const auto& [row, predicted] : askers) rows.push_back(row);
    const std::vector<Prediction> predictions = predict(rows, there);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (is_usable(predictions[i]))
        rows[i]->slopes[chain] = std::log(askers[i].second / predictions[i].predicted) / kDifference;
  }

  double effect_of(const std::string& name) const {
    const auto found = catalogue_.constants.find(name);
    return found == catalogue_.constants.end() ? 0 : std::log(found->second.value);
  }

  // Of all rows but those of one source.
  std::vector<Observation> observations(const std::string& left_out, Names& names,
                                        std::map<std::string, Support>& support) const {
    std::vector<Observation> all;
    for (const Row& row : rows_) {
      if (!row.is_mapped || row.source == left_out) continue;
      Observation one{row.residual, {}};
      std::map<std::size_t, double> terms;
      for (const auto& [chain, slope] : row.slopes)
        for (const std::string& name : chain) {
          terms[names.of_constant(name, name == chain.back())] += slope;
          one.residual += slope * effect_of(name);
          if (std::abs(slope) < 1e-9) continue;
          ++support[name].records;
          support[name].sources.insert(row.source);
        }
      if (terms.empty()) continue;
      const std::string common = std::string(row.kind->name) + " of " + row.source;
      terms[names.of_source(common, kOfSource)] = 1;
      terms[names.of_source(common + " on " + row.job->gpu.id, kOfSourceAndOne)] = 1;
      if (!row.job->model.id.empty())
        terms[names.of_source(common + " with " + row.job->model.id, kOfSourceAndOne)] = 1;
      one.terms.assign(terms.begin(), terms.end());
      all.push_back(std::move(one));
    }
    return all;
  }

  Catalogue solved(const std::string& left_out) const {
    Names names;
    std::map<std::string, Support> support;
    const std::vector<Observation> rows = observations(left_out, names, support);
    const Effects effects = solve_effects(rows, names.spreads(), kNoise);
    Catalogue catalogue = catalogue_;
    catalogue.constants.clear();
    for (const auto& [name, place] : names.all()) {
      const auto found = support.find(name);
      if (!is_constant(name) || found == support.end()) continue;
      const std::set<std::string>& sources = found->second.sources;
      catalogue.constants[name] = {std::exp(effects.values[place]),
                                   effects.deviations[place],
                                   found->second.records,
                                   {sources.begin(), sources.end()}};
    }
    return catalogue;
  }

  // Towards the solution, no farther than the linearisation may hold.
  std::pair<std::string, double> step(double most) {
    const Catalogue next = solved({});
    std::map<std::string, Constant> constants = next.constants;
    std::pair<std::string, double> moved;
    for (auto& [name, constant] : constants) {
      const double before = effect_of(name);
      const double change = std::clamp(std::log(constant.value) - before, -most, most);
      constant.value = std::exp(before + change);
      if (std::abs(change) > moved.second) moved = {name, std::abs(change)};
    }
    catalogue_.constants = std::move(constants);
    return moved;
  }

  Catalogue catalogue_;
  std::vector<Record> records_;
  std::vector<JobSpec> jobs_, given_;
  RunOptions run_;
  Tell tell_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Record> fit_input(const std::vector<Record>& records) {
  std::vector<Record> kept;
  for (const Record& record : records)
    if (record.use != Use::none && record.value) kept.push_back(record);
  return kept;
}

FittedConstants fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs,
                              const Tell& tell) {
  return Fit(catalogue, records, jobs, tell).run();
}

Json constants_json(const Catalogue& catalogue) {
  Json constants = Json::array();
  for (const auto& [name, constant] : catalogue.constants)
    constants.push_back({{"name", name},
                         {"value", constant.value},
                         {"deviation", constant.deviation},
                         {"records", constant.records},
                         {"sources", constant.sources}});
  return {
      {"schema", "lockstep/catalogue/1"},
      {"description", "Factors fitted by validate --fit, each with how well it is known and the sources it is from."},
      {"constants", constants}};
}

}  // namespace records
}  // namespace lockstep::sim
