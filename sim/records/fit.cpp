#include "sim/records/fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/process_pool.hpp"
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
constexpr int kRounds = 8;           // of the linearisation
constexpr double kMostStep = 0.7;    // of an effect in the first of them; then 2/3, 2/4, 2/5, ... of it
constexpr double kTurn = 0.4;        // of the last step, for an effect that turns back
constexpr double kSettled = 0.02;
constexpr double kDifference = 0.05;     // of a logarithm, for derivatives
constexpr double kOfStairs = 0.25;       // and where NCCL takes bandwidth in steps of a fifth: on a step nothing moves
constexpr std::size_t kRowsOfTask = 32;  // whose networks are in memory at a time
// The next three are chosen by what they make of sources that are left out (results/validation). What a source's records of
// one GPU, or of one network, have in common is no effect of its own: it took what the constants should have had.
constexpr double kNoise = 0.15;     // of a record among those of its source
constexpr int kMostOfSource = 20;   // records of a kind by which a source counts: those of a long table are alike
constexpr double kOfSource = 0.05;  // what its records have in common

struct Kind {
  const char* name;
  std::vector<std::string> prefixes;  ///< of the constants that it may move
  bool (*has)(const JobSpec&);
  bool use_rates;
  /// Of the share of a record that its constants do not move, how far it may be off: a time that is half communication
  /// says less of computing, whatever that communication was.
  double others_off = 0;
  /// Says nothing of its constants where the speed is not given: what that is off would be taken for them.
  bool needs_rate = false;
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
      {"replicas", {"kernel launch", "host launch", "speed"}, is_replica_rate, false, 0.5},
      {"rates", {"kernel launch", "host launch", "speed", "memory speed"}, is_rate_alone, false},
      {"epochs", {"epochs at small batch", "critical batch"}, is_epochs, true},
      {"exchanges",
       {"link share", "network share", "network hop", "call", "message", "host copies"},
       is_exchange,
       false},
      {"scaling", {"jitter", "network share/tcp"}, is_scaling, true},
      {"trainings", {kEvaluationShare}, is_training, true, 0, true}};
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
  double predicted = 0;              ///< 0: it cannot be
  std::map<Chain, double> slopes{};  ///< of log(predicted) by the logarithm of a chain's value

  bool is_mapped() const { return predicted > 0; }
};

double difference_of(const Chain& chain) {
  const std::string& widest = chain.back();
  const bool is_share = widest.rfind("link share", 0) == 0 || widest.rfind("network share", 0) == 0;
  return is_share ? kOfStairs : kDifference;
}

bool may_move(const Kind& kind, const Chain& chain) {
  return std::any_of(kind.prefixes.begin(), kind.prefixes.end(),
                     [&](const std::string& prefix) { return chain.back().rfind(prefix, 0) == 0; });
}

// Effects by name: of constants, and of what records have in common.
class Names {
 public:
  std::size_t of_constant(const std::string& name, bool is_widest) {
    return add(name, {is_widest ? usual_of(name).spread : usual_of(name).spread_of_narrower});
  }
  std::size_t of_source(const std::string& name) { return add(" " + name, {kOfSource, true}); }
  const std::map<std::string, std::size_t>& all() const { return places_; }
  const std::vector<Spread>& spreads() const { return spreads_; }

 private:
  std::size_t add(const std::string& name, Spread spread) {
    const auto [found, is_new] = places_.emplace(name, spreads_.size());
    if (is_new) spreads_.push_back(spread);
    return found->second;
  }

  std::map<std::string, std::size_t> places_;
  std::vector<Spread> spreads_;
};

bool is_constant(const std::string& name) {
  return name.front() != ' ';
}

// What a constant rests on.
struct Support {
  int records = 0;
  std::set<std::string> sources;
};

// What constants_json() wrote.
std::map<std::string, Constant> constants_from(const Json& json) {
  std::map<std::string, Constant> constants;
  for (const Json& one : json.at("constants"))
    constants[one.at("name")] = {one.at("value").get<double>(), one.at("deviation").get<double>(),
                                 one.at("records").get<int>(), one.at("sources").get<std::vector<std::string>>()};
  return constants;
}

class Fit {
 public:
  Fit(Catalogue catalogue, const std::vector<Record>& records, int jobs, const Tell& tell)
      : catalogue_(std::move(catalogue)), records_(fit_input(records)), jobs_at_a_time_(jobs), tell_(tell) {
    catalogue_.constants.clear();
    for (const Record& record : records_) jobs_.push_back(job_of(record, catalogue_));
    given_ = given_jobs(records_, catalogue_);
    for (const JobSpec& job : jobs_)
      if (const Kind* kind = kind_of(job)) rows_.push_back({&job, kind, whole_source(job.source)});
  }

  FittedConstants run() {
    for (int round = 0; round < kRounds; ++round) {
      linearise();
      const auto [name, moved] = step(2 * kMostStep / (2 + round));
      if (tell_)
        tell_("round " + std::to_string(round + 1) + ": the largest change is " + short_number(moved) + ", of " + name);
      if (std::abs(moved) < kSettled) break;
    }
    linearise();
    FittedConstants fitted{solved({}), {}};
    std::set<std::string> all;
    for (const Row& row : rows_) all.insert(row.source);
    const std::vector<std::string> sources(all.begin(), all.end());
    const std::vector<std::string> texts = in_shared_processes(
        sources.size(), jobs_at_a_time_, [&](std::size_t i) { return constants_json(solved(sources[i])).dump(); });
    for (std::size_t i = 0; i < sources.size(); ++i) {
      fitted.without[sources[i]] = catalogue_;
      fitted.without[sources[i]].constants = constants_from(Json::parse(texts[i]));
    }
    return fitted;
  }

 private:
  // Some rows of one sort, with one chain's value a little less, or with all as they are.
  struct Task {
    std::vector<Row*> rows;
    Chain moved{};
  };
  // What is predicted for a row; 0: nothing, or no use to its kind. And the chains that the prediction asked for.
  struct Answer {
    double predicted = 0;
    std::vector<Chain> asked_for{};
  };

  Catalogue moved(const Chain& chain) const {
    Catalogue there = catalogue_;
    if (chain.empty()) return there;
    Constant& factor = there.constants[chain.front()];
    factor.value = (factor.value > 0 ? factor.value : 1) * std::exp(-difference_of(chain));
    return there;
  }

  // Mapped and run in the process that it is called in.
  std::string answers_text(const Task& task) const {
    const Catalogue catalogue = moved(task.moved);
    std::vector<const JobSpec*> jobs;
    for (const Row* row : task.rows) jobs.push_back(row->job);
    MapOptions options;
    options.fidelity = Fidelity::analytic;  // thousands of runs a round; near what the default says
    options.use_rates = options.use_anchors = task.rows.front()->kind->use_rates;
    Json answers = Json::array();
    const std::vector<Prediction> predictions = predict_jobs(jobs, given_, catalogue, {0, false}, options);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      const Prediction& p = predictions[i];
      Json chains = Json::array();
      for (const auto& [specific, chain] : p.mapped.asked_for) chains.push_back(chain);
      const bool is_of_use = !task.rows[i]->kind->needs_rate || p.mapped.has_rates();
      answers.push_back({is_of_use && p.is_mapped() && p.predicted > 0 ? p.predicted : 0, chains});
    }
    return answers.dump();
  }

  std::vector<std::vector<Answer>> answers_of(const std::vector<Task>& tasks) const {
    const std::vector<std::string> texts =
        in_shared_processes(tasks.size(), jobs_at_a_time_, [&](std::size_t i) { return answers_text(tasks[i]); });
    std::vector<std::vector<Answer>> all;
    for (const std::string& text : texts) {
      all.emplace_back();
      for (const Json& answer : Json::parse(text))
        all.back().push_back({answer[0].get<double>(), answer[1].get<std::vector<Chain>>()});
    }
    return all;
  }

  // Rows of kinds that use rates and of those that do not are predicted apart.
  static void add_tasks(std::vector<Task>& tasks, const std::vector<Row*>& rows, const Chain& moved) {
    for (const bool use_rates : {false, true}) {
      std::vector<Row*> some;
      const auto close = [&] {
        if (!some.empty()) tasks.push_back({std::move(some), moved});
        some.clear();
      };
      for (Row* row : rows) {
        if (row->kind->use_rates == use_rates) some.push_back(row);
        if (some.size() == kRowsOfTask) close();
      }
      close();
    }
  }

  // Residuals where the constants are, and slopes by a difference for one chain after the other.
  void linearise() {
    std::vector<Row*> rows;
    for (Row& row : rows_) rows.push_back(&row);
    std::vector<Task> tasks;
    add_tasks(tasks, rows, {});
    std::map<Chain, std::vector<Row*>> askers;
    const std::vector<std::vector<Answer>> here = answers_of(tasks);
    for (std::size_t t = 0; t < tasks.size(); ++t)
      for (std::size_t i = 0; i < tasks[t].rows.size(); ++i) {
        Row& row = *tasks[t].rows[i];
        row.slopes.clear();
        row.predicted = here[t][i].predicted;
        if (!row.is_mapped()) continue;
        row.residual = std::log(*row.job->value / row.predicted);
        for (const Chain& chain : here[t][i].asked_for)
          if (may_move(*row.kind, chain)) askers[chain].push_back(&row);
      }
    take_slopes(askers);
  }

  void take_slopes(const std::map<Chain, std::vector<Row*>>& askers) {
    std::vector<Task> tasks;
    for (const auto& [chain, rows] : askers) add_tasks(tasks, rows, chain);
    const std::vector<std::vector<Answer>> there = answers_of(tasks);
    for (std::size_t t = 0; t < tasks.size(); ++t)
      for (std::size_t i = 0; i < tasks[t].rows.size(); ++i) {
        Row& row = *tasks[t].rows[i];
        if (there[t][i].predicted > 0)
          row.slopes[tasks[t].moved] = std::log(row.predicted / there[t][i].predicted) / difference_of(tasks[t].moved);
      }
  }

  double effect_of(const std::string& name) const {
    const auto found = catalogue_.constants.find(name);
    return found == catalogue_.constants.end() ? 0 : std::log(found->second.value);
  }

  static std::string common_of(const Row& row) { return std::string(row.kind->name) + " of " + row.source; }

  // What its constants move of a record.
  static double moved_of(const Row& row) {
    double moved = 0;
    for (const auto& [chain, slope] : row.slopes) moved = std::max(moved, std::abs(slope));
    return std::min(1.0, moved);
  }

  static double noise_factor_of(const Row& row, int records_of_source) {
    const double others = row.kind->others_off * (1 - moved_of(row));
    const double alike = std::sqrt(std::max(1.0, double(records_of_source) / kMostOfSource));
    return alike * std::hypot(kNoise, others) / kNoise;
  }

  // Of all rows but those of one source.
  std::vector<Observation> observations(const std::string& left_out, Names& names,
                                        std::map<std::string, Support>& support) const {
    std::vector<Observation> all;
    std::map<std::string, int> of_common;
    for (const Row& row : rows_)
      if (row.is_mapped()) ++of_common[common_of(row)];
    for (const Row& row : rows_) {
      if (!row.is_mapped() || row.source == left_out) continue;
      Observation one{row.residual, {}};
      one.noise_factor = noise_factor_of(row, of_common.at(common_of(row)));
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
      terms[names.of_source(common_of(row))] = row.kind->others_off > 0 ? moved_of(row) : 1;
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
      const double wanted = std::log(constant.value) - before;
      // Where the slope depends on the value, as of a share of a time, whole steps leap to and fro.
      double& last = steps_[name];
      const double reach = last * wanted < 0 ? std::min(most, kTurn * std::abs(last)) : most;
      last = std::clamp(wanted, -reach, reach);
      constant.value = std::exp(before + last);
      if (std::abs(last) > std::abs(moved.second)) moved = {name, last};
    }
    catalogue_.constants = std::move(constants);
    keep_to_limits();
    return moved;
  }

  // Beyond its limit a value moves nothing, so that no record would say where its factors are: what is above goes from the
  // most specific of them.
  void keep_to_limits() {
    std::set<Chain> chains;
    for (const Row& row : rows_)
      for (const auto& [chain, slope] : row.slopes) chains.insert(chain);
    for (const Chain& chain : chains) {
      const UsualValue& usual = usual_of(chain.back());
      double value = usual.value;
      for (const std::string& name : chain) value *= std::exp(effect_of(name));
      const auto own = catalogue_.constants.find(chain.front());
      if (value > usual.most && own != catalogue_.constants.end()) own->second.value *= usual.most / value;
    }
  }

  Catalogue catalogue_;
  std::vector<Record> records_;
  std::vector<JobSpec> jobs_, given_;
  int jobs_at_a_time_;
  Tell tell_;
  std::vector<Row> rows_;
  std::map<std::string, double> steps_;  // of the last round, by constant
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
