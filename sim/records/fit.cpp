#include "sim/records/fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>

#include "engine/base/text.hpp"
#include "sim/records/paper_weights.hpp"
#include "sim/records/run.hpp"
#include "sim/records/usual.hpp"

namespace lockstep::sim {
namespace {

constexpr int kPasses = 2;
constexpr int kMostGpusOfRate = 64;                   // whose rate says how fast a GPU is, not its network
constexpr std::size_t kMostRecords = 36;              // of one constant, evenly spread over those that use it
constexpr double kFirstStep = 0.4, kLastStep = 0.04;  // of log(value)
constexpr double kPull = 0.1;         // of |log(value / what stands in)|, against the sum of |log(error)|
constexpr double kWorth = 0.05;       // by which a constant must lower that sum, and
constexpr double kWorthEach = 0.005;  // by this for every record
constexpr double kSlightest = 1e-6;
constexpr std::size_t kFewestUsers = 3;  // records that a constant may rest on

struct Stage {
  std::vector<std::string> prefixes;
  bool (*is_for)(const JobSpec&);
  bool use_rates;
  bool is_of_machines = false;  ///< a paper's records are all of one machine
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

const std::vector<Stage>& stages() {
  static const std::vector<Stage> all{
      {{"kernel launch", "speed/", "memory speed"}, is_rate_alone, false},
      {{"speed of software/"}, is_rate_alone, false},
      {{"epochs at small batch/", "critical batch/"}, is_epochs, true},
      {{"link share/", "network share/", "call/", "message/", "fill/"}, is_exchange, false, true},
      {{"jitter", "network share/tcp"}, is_scaling, true},
      {{kEvaluationShare}, is_training, true}};
  return all;
}

bool has_prefix(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.rfind(prefix, 0) == 0; });
}

class Fit {
 public:
  /// With `only`, the other constants stay as they are, and those named
  /// are searched from where they were.
  Fit(Catalogue catalogue, const std::vector<Record>& records, int jobs, const Tell& tell,
      std::optional<std::set<std::string>> only = {})
      : catalogue_(std::move(catalogue)),
        records_(fit_input(records)),
        run_{jobs, false},
        tell_(tell),
        only_(std::move(only)) {
    if (!only_) catalogue_.constants.clear();
    for (const Record& record : records_) jobs_.push_back(job_of(record, catalogue_));
    given_ = given_jobs(records_, catalogue_);
  }

  /// Constants with the prefix are searched, whether they are known or not.
  void take_all(const std::string& prefix) { prefix_ = prefix; }

  Catalogue run() {
    for (const Stage& stage : stages()) fit_stage(stage);
    return catalogue_;
  }

 private:
  // Of a name: the records that it decides, and what stands in for it.
  struct User {
    std::vector<const JobSpec*> records;
    std::vector<double> weights;     // of the records, 1 on average
    std::vector<std::string> wider;  // widest last
  };
  using Users = std::map<std::string, User>;

  bool is_wanted(const std::string& name) const { return !only_ || only_->count(name) > 0; }

  std::vector<const JobSpec*> records_of(const Stage& stage) const {
    std::vector<const JobSpec*> chosen;
    for (const JobSpec& job : jobs_)
      if (job.value && *job.value > 0 && stage.is_for(job)) chosen.push_back(&job);
    return chosen;
  }

  // What holds where the name has no value of its own.
  double stand_in(const std::string& name, const User& user) const {
    for (const std::string& wider : user.wider)
      if (const auto found = catalogue_.constants.find(wider); found != catalogue_.constants.end())
        return found->second.value;
    return usual_of(name).value;
  }

  // What the misfit needs of a prediction.
  struct Judged {
    bool is_mapped = false;
    double off = 0;     // log(published / predicted); of an efficiency the difference
    std::string speed;  // the constant that says how fast the GPU is
  };

  // A prediction without anchors follows from its job and from the constants that it asks for, so that these are its
  // key: a search asks for the same values over and over.
  struct Remembered {
    std::map<std::string, std::vector<std::string>> asked_for;
    std::map<std::vector<double>, Judged> by_values;
  };

  std::vector<double> values_of(const std::map<std::string, std::vector<std::string>>& asked_for) const {
    std::vector<double> values;
    for (const auto& [specific, chain] : asked_for) {
      double value = -1;  // of no constant: none was fitted
      for (auto name = chain.rbegin(); name != chain.rend(); ++name)
        if (const auto found = catalogue_.constants.find(*name); found != catalogue_.constants.end())
          value = found->second.value;
      values.push_back(value);
    }
    return values;
  }

  static Judged judged(const Prediction& p) {
    if (!p.is_mapped() || p.predicted <= 0) return {};
    const bool is_share = p.mapped.quantity == Quantity::efficiency;
    return {true, is_share ? p.error() : std::log(*p.record->value / p.predicted), speed_of(p.mapped)};
  }

  std::vector<Judged> judge(const std::vector<const JobSpec*>& records, const MapOptions& options) {
    std::vector<Judged> all(records.size());
    std::vector<std::size_t> unknown;
    std::vector<const JobSpec*> targets;
    auto& remembered = remembered_[options.use_rates];
    for (std::size_t i = 0; i < records.size(); ++i) {
      Remembered& of_record = remembered[records[i]];
      const auto found = of_record.by_values.find(values_of(of_record.asked_for));
      if (found != of_record.by_values.end()) {
        all[i] = found->second;
        continue;
      }
      unknown.push_back(i);
      targets.push_back(records[i]);
    }
    const std::vector<Prediction> predictions = predict_jobs(targets, given_, catalogue_, run_, options);
    for (std::size_t j = 0; j < unknown.size(); ++j) {
      const Prediction& p = predictions[j];
      all[unknown[j]] = judged(p);
      if (!p.is_mapped() || !p.mapped.anchors.empty()) continue;
      Remembered& of_record = remembered[targets[j]];
      of_record.asked_for = p.mapped.asked_for;
      of_record.by_values[values_of(p.mapped.asked_for)] = all[unknown[j]];
    }
    return all;
  }

  // Sum of |log(published / predicted)|.
  double misfit(const std::string& name, const User& user, const MapOptions& options) {
    double sum = 0;
    const bool is_launch = name.rfind("kernel launch", 0) == 0;
    std::map<std::string, std::vector<double>> by_speed;
    const std::vector<Judged> all = judge(user.records, options);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].is_mapped) continue;
      if (is_launch) by_speed[all[i].speed].push_back(all[i].off);
      sum += user.weights[i] * std::abs(all[i].off);
    }
    return is_launch ? spread(by_speed) : sum;
  }

  double objective(const std::string& name, const User& user, const MapOptions& options) {
    const double away = std::abs(std::log(catalogue_.constants.at(name).value / stand_in(name, user)));
    return misfit(name, user, options) + kPull * away;
  }

  // The launch overhead is what makes small batches slow; how fast a GPU is at large ones is its speed's to say.
  static std::string speed_of(const MappedRecord& mapped) {
    for (const auto& [specific, chain] : mapped.asked_for)
      if (specific.rfind("speed/", 0) == 0) return specific;
    return "";
  }

  static double spread(std::map<std::string, std::vector<double>>& groups) {
    double sum = 0;
    for (auto& [name, offs] : groups) {
      std::nth_element(offs.begin(), offs.begin() + static_cast<std::ptrdiff_t>(offs.size() / 2), offs.end());
      const double middle = offs[offs.size() / 2];
      for (double off : offs) sum += std::abs(off - middle);
    }
    return sum;
  }

  // A few values far apart first: where communication hides behind computation, nothing near shows a difference.
  void scan(const std::string& name, const User& user, const MapOptions& options) {
    double& value = catalogue_.constants[name].value;
    const double before = value;
    double best = objective(name, user, options), best_value = before;
    for (double step : {-2.4, -1.6, -0.8, 0.8, 1.6}) {
      value = before * std::exp(step);
      if (value > usual_of(name).most) continue;
      const double now = objective(name, user, options);
      if (now >= best - kSlightest) continue;
      best = now;
      best_value = value;
    }
    value = best_value;
  }

  void search(const std::string& name, const User& user, const MapOptions& options, double first_step) {
    double& value = catalogue_.constants[name].value;
    double best = objective(name, user, options);
    for (double step = first_step; step > kLastStep;) {
      const double before = value;
      bool is_better = false;
      for (double direction : {1.0, -1.0}) {
        value = before * std::exp(direction * step);
        const double now = value > usual_of(name).most ? best : objective(name, user, options);
        if (now < best - kSlightest) {
          best = now;
          is_better = true;
          break;
        }
        value = before;
      }
      if (!is_better) step /= 2;
    }
  }

  // Names that the stage's records ask for, widest first of all.
  std::vector<Users> wanted(const Stage& stage, const MapOptions& options) {
    std::vector<Users> levels;
    for (const JobSpec* record : records_of(stage)) {
      const MappedRecord mapped = map_job(*record, given_, catalogue_, options);
      if (!mapped.unmapped.empty()) continue;
      for (const auto& [specific, chain] : mapped.asked_for) {
        if (!has_prefix(specific, stage.prefixes)) continue;
        for (std::size_t i = 0; i < chain.size(); ++i) {
          if (!has_prefix(chain[i], stage.prefixes)) continue;
          const std::size_t level = chain.size() - 1 - i;
          if (levels.size() <= level) levels.resize(level + 1);
          User& user = levels[level][chain[i]];
          if (user.records.empty() || user.records.back() != record) user.records.push_back(record);
          user.wider.assign(chain.begin() + static_cast<std::ptrdiff_t>(i) + 1, chain.end());
        }
      }
    }
    for (Users& level : levels)
      for (auto it = level.begin(); it != level.end();) {
        it->second.records = spread_out(it->second.records);
        it->second.weights = stage.is_of_machines ? paper_weights(sources_of(it->second.records))
                                                  : std::vector<double>(it->second.records.size(), 1);
        it = it->second.records.size() < kFewestUsers ? level.erase(it) : std::next(it);
      }
    return levels;
  }

  static std::vector<std::string> sources_of(const std::vector<const JobSpec*>& records) {
    std::vector<std::string> sources;
    for (const JobSpec* record : records) sources.push_back(record->source);
    return sources;
  }

  static std::vector<const JobSpec*> spread_out(const std::vector<const JobSpec*>& records) {
    if (records.size() <= kMostRecords) return records;
    std::vector<const JobSpec*> some;
    for (std::size_t i = 0; i < kMostRecords; ++i) some.push_back(records[i * records.size() / kMostRecords]);
    return some;
  }

  void begin(const std::string& name, const User& user) {
    const double value = stand_in(name, user);
    Constant& constant = catalogue_.constants[name];
    if (constant.value == 0) constant.value = value;
    constant.records.clear();
    for (const JobSpec* record : user.records) constant.records.push_back(record->id);
  }

  // A constant whose records are met about as well by what stands in for it is left out.
  void drop_if_idle(const std::string& name, const User& user, const MapOptions& options) {
    const Constant constant = catalogue_.constants.at(name);
    const double with = objective(name, user, options);
    catalogue_.constants.erase(name);
    const double gain = misfit(name, user, options) - with;
    if (gain < kWorth + kWorthEach * static_cast<double>(user.records.size())) return;
    catalogue_.constants[name] = constant;
  }

  // A constant that was fitted beside a wider one which is fitted anew must be so too: else the wider one would rest on
  // the few records that have none of their own.
  void want_narrower(const std::vector<Users>& levels) {
    for (const Users& level : levels)
      for (const auto& [name, user] : level)
        if (catalogue_.constants.count(name) > 0 &&
            std::any_of(user.wider.begin(), user.wider.end(), [&](const auto& wider) { return only_->count(wider); }))
          only_->insert(name);
  }

  void want_prefix(const std::vector<Users>& levels) {
    for (const Users& level : levels)
      for (const auto& [name, user] : level)
        if (name.rfind(prefix_, 0) == 0) only_->insert(name);
  }

  // Names whose last records were taken away.
  void drop_unused(const Stage& stage, const std::vector<Users>& levels) {
    for (const std::string& name : *only_) {
      const bool is_used = std::any_of(levels.begin(), levels.end(), [&](const Users& u) { return u.count(name) > 0; });
      if (has_prefix(name, stage.prefixes) && !is_used) catalogue_.constants.erase(name);
    }
  }

  void fit_stage(const Stage& stage) {
    MapOptions options;
    options.use_rates = stage.use_rates;
    const std::vector<Users> levels = wanted(stage, options);
    if (!prefix_.empty()) want_prefix(levels);
    if (only_ && stage.is_of_machines) want_narrower(levels);
    if (only_) drop_unused(stage, levels);
    for (const Users& level : levels) {
      for (const auto& [name, user] : level)
        if (is_wanted(name)) begin(name, user);
      for (int pass = only_ ? 1 : 0; pass < kPasses; ++pass)
        for (const std::string& prefix : stage.prefixes)
          for (const auto& [name, user] : level) {
            if (name.rfind(prefix, 0) != 0 || !is_wanted(name)) continue;
            if (pass == 0 && prefix.find("speed") == std::string::npos) scan(name, user, options);
            search(name, user, options, pass == 0 ? kFirstStep : only_ ? kFirstStep / 2 : kFirstStep / 4);
          }
      for (const auto& [name, user] : level)
        if (is_wanted(name)) drop_if_idle(name, user, options);
    }
    if (!tell_) return;
    for (const Users& level : levels)
      for (const auto& [name, user] : level)
        if (const auto found = catalogue_.constants.find(name); is_wanted(name) && found != catalogue_.constants.end())
          tell_(name + " = " + short_number(found->second.value) + " from " + std::to_string(user.records.size()) +
                " records");
  }

  Catalogue catalogue_;
  std::vector<Record> records_;
  std::vector<JobSpec> jobs_, given_;
  RunOptions run_;
  Tell tell_;
  std::optional<std::set<std::string>> only_;
  std::string prefix_;
  std::map<bool, std::map<const JobSpec*, Remembered>> remembered_;
};

// Names of the constants that were fitted on a record of the paper.
std::set<std::string> touched_by(const Catalogue& fitted, const std::set<std::string>& ids) {
  std::set<std::string> names;
  for (const auto& [name, constant] : fitted.constants)
    if (name.rfind("bounds", 0) != 0 && std::any_of(constant.records.begin(), constant.records.end(),
                                                    [&](const auto& id) { return ids.count(id) > 0; }))
      names.insert(name);
  return names;
}

Catalogue fitted_without(const Catalogue& fitted, const std::string& paper, const std::vector<Record>& records,
                         int jobs) {
  std::set<std::string> ids;
  std::vector<Record> others;
  for (const Record& record : records)
    if (record.source == paper)
      ids.insert(record.id);
    else
      others.push_back(record);
  return Fit(fitted, others, jobs, {}, touched_by(fitted, ids)).run();
}

}  // namespace

std::vector<Record> fit_input(const std::vector<Record>& records) {
  std::vector<Record> kept;
  for (const Record& record : records)
    if (record.use == Use::given || record.use == Use::fit) kept.push_back(record);
  return kept;
}

Catalogue fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs, const Tell& tell,
                        const std::string& prefix) {
  const std::vector<Record> kept = fit_input(records);
  if (prefix.empty()) return Fit(catalogue, kept, jobs, tell).run();
  std::set<std::string> known;
  for (const auto& [name, constant] : catalogue.constants)
    if (name.rfind(prefix, 0) == 0) known.insert(name);
  Fit fit(catalogue, kept, jobs, tell, known);
  fit.take_all(prefix);
  return fit.run();
}

std::vector<Prediction> predict_left_out(const Catalogue& fitted, const std::vector<Record>& records,
                                         const std::vector<const Record*>& targets, int jobs, const Tell& tell) {
  std::map<std::string, std::vector<const Record*>> papers;
  for (const Record* target : targets) papers[target->source].push_back(target);
  std::map<const Record*, Prediction> by_record;
  for (const auto& [paper, of_paper] : papers) {
    const Catalogue without = fitted_without(fitted, paper, records, jobs);
    for (Prediction& p : predict_records(of_paper, records, without, jobs)) by_record.emplace(p.record, std::move(p));
    if (tell) tell("left out: " + paper);
  }
  std::vector<Prediction> predictions;
  for (const Record* target : targets) predictions.push_back(std::move(by_record.at(target)));
  return predictions;
}

Json constants_json(const Catalogue& catalogue) {
  Json constants = Json::array();
  for (const auto& [name, constant] : catalogue.constants)
    constants.push_back({{"name", name}, {"value", constant.value}, {"records", constant.records}});
  return {{"schema", "lockstep/catalogue/1"},
          {"description", "Constants fitted by validate --fit, each with the records that it was fitted on."},
          {"constants", constants}};
}

}  // namespace lockstep::sim
