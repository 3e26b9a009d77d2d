#include "sim/records/fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/base/text.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {
namespace {

constexpr int kPasses = 2;
constexpr double kMostJitter = 0.12;
constexpr std::size_t kMostRecords = 36;              // of one constant, evenly spread over those that use it
constexpr double kFirstStep = 0.4, kLastStep = 0.02;  // of log(value)
constexpr double kPull = 0.003;                       // towards the usual value, where records say nothing
constexpr double kInside = 0.88;                      // share of fit records inside the bounds
constexpr double kMostSpread = 12;
constexpr std::size_t kFewest = 4;  // records that calibrate a class of bounds

struct Stage {
  std::vector<std::string> prefixes;
  bool (*is_for)(const Record&);
  bool use_rates;
};

bool is_rate_alone(const Record& r) {
  const bool is_mlperf = mentions(r.source, "mlperf");
  return (r.metric == "images_per_s" || r.metric == "iteration_s") && (r.gpus == 1 || is_mlperf);
}

bool is_epochs(const Record& r) {
  return r.metric == "epochs_to_accuracy";
}

bool is_exchange(const Record& r) {
  return r.metric == "allreduce_seconds" || r.metric == "allreduce_busbw" || r.metric == "alpha_s" ||
         r.metric == "beta_s_per_B" || r.metric == "comm_seconds";
}

bool is_scaling(const Record& r) {
  return r.gpus > 1 && r.role == Role::target && r.metric == "images_per_s" && !mentions(r.source, "mlperf");
}

bool is_time_to_accuracy(const Record& r) {
  return r.metric == "time_to_accuracy_s" && r.role == Role::target;
}

const std::vector<Stage>& stages() {
  static const std::vector<Stage> all{
      {{"kernel launch/", "speed/", "speed of software/"}, is_rate_alone, false},
      {{"epochs at small batch/", "critical batch/"}, is_epochs, true},
      {{"link share/", "network share/", "call/", "message/", "fill/"}, is_exchange, false},
      {{"jitter/", "link share/ps", "link share/kvstore", "network share/rdma/ps", "network share/tcp/", "call/ps",
        "call/kvstore"},
       is_scaling,
       true},
      {{"evaluation share/"}, is_time_to_accuracy, true}};
  return all;
}

bool has_prefix(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.rfind(prefix, 0) == 0; });
}

// The value before any record: what map_record() would take without the constant.
double usual_value(const std::string& name) {
  if (name.rfind("kernel launch", 0) == 0) return 10e-6;
  if (name.rfind("epochs at", 0) == 0) return 40;
  if (name.rfind("critical", 0) == 0) return 45000;
  if (name.rfind("call", 0) == 0) return 30e-6;
  if (name.rfind("message", 0) == 0) return 5e-6;
  if (name.rfind("fill", 0) == 0) return 5e-6;
  if (name.rfind("jitter", 0) == 0) return 0.01;
  if (name.rfind("network share", 0) == 0) return 0.8;
  if (name.rfind("network hop", 0) == 0) return 2e-6;
  if (name.rfind("evaluation", 0) == 0) return 0.03;
  if (name.rfind("link share", 0) == 0) return 0.9;
  return 1;
}

class Fit {
 public:
  Fit(Catalogue catalogue, const std::vector<Record>& records, int jobs,
      const std::function<void(const std::string&)>& tell)
      : catalogue_(std::move(catalogue)), jobs_(jobs), tell_(tell) {
    for (const Record& record : records)
      if (record.use == Use::given || record.use == Use::fit) records_.push_back(record);
    catalogue_.constants.clear();
  }

  Catalogue run() {
    for (const Stage& stage : stages()) fit_stage(stage);
    add_wider_classes();
    fit_bounds();
    return catalogue_;
  }

 private:
  std::vector<const Record*> records_of(const Stage& stage) const {
    std::vector<const Record*> chosen;
    for (const Record& record : records_)
      if (record.value && *record.value > 0 && stage.is_for(record)) chosen.push_back(&record);
    return chosen;
  }

  double objective(const std::vector<const Record*>& records, const MapOptions& options,
                   const std::string& name) const {
    double sum = 0;
    const bool is_launch = name.rfind("kernel launch/", 0) == 0;
    std::map<std::string, std::vector<double>> by_speed;
    for (const Prediction& p : predict_records(records, records_, catalogue_, jobs_, options)) {
      if (!p.is_mapped() || p.predicted <= 0) continue;
      const bool is_share = p.mapped.quantity == Quantity::efficiency;
      const double off = is_share ? p.error() : std::log(*p.record->value / p.predicted);
      if (is_launch) by_speed[speed_of(p.mapped)].push_back(off);
      sum += std::abs(off);
    }
    if (is_launch) sum = spread(by_speed);
    const double away = std::abs(std::log(catalogue_.constants.at(name).value / usual_value(name)));
    return sum / static_cast<double>(records.size()) + kPull * away;
  }

  // The launch overhead is what makes small batches slow; how fast a GPU is at large ones is its speed's to say.
  static std::string speed_of(const MappedRecord& mapped) {
    for (const std::string& constant : mapped.constants)
      if (constant.rfind("speed/", 0) == 0) return constant;
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
  void scan(const std::string& name, const std::vector<const Record*>& records, const MapOptions& options) {
    const double before = catalogue_.constants[name].value;
    double best = objective(records, options, name), best_value = before;
    for (double step : {-2.4, -1.6, -0.8, 0.8, 1.6}) {
      catalogue_.constants[name].value = before * std::exp(step);
      const double now = objective(records, options, name);
      if (now >= best - 1e-6) continue;
      best = now;
      best_value = catalogue_.constants[name].value;
    }
    catalogue_.constants[name].value = best_value;
  }

  void search(const std::string& name, const std::vector<const Record*>& records, const MapOptions& options,
              double first_step) {
    double best = objective(records, options, name);
    for (double step = first_step; step > kLastStep;) {
      const double before = catalogue_.constants[name].value;
      bool is_better = false;
      for (double direction : {1.0, -1.0}) {
        catalogue_.constants[name].value = before * std::exp(direction * step);
        const bool too_much = name.rfind("jitter/", 0) == 0 && catalogue_.constants[name].value > kMostJitter;
        const double now = too_much ? best : objective(records, options, name);
        if (now < best - 1e-6) {
          best = now;
          is_better = true;
          break;
        }
        catalogue_.constants[name].value = before;
      }
      if (!is_better) step /= 2;
    }
  }

  // Constants that the stage's records ask for, with the records that do.
  std::map<std::string, std::vector<const Record*>> wanted(const Stage& stage, const MapOptions& options) {
    std::map<std::string, std::vector<const Record*>> users;
    for (const Record* record : records_of(stage)) {
      const MappedRecord mapped = map_record(*record, records_, catalogue_, options);
      if (!mapped.unmapped.empty()) continue;
      for (const auto& [name, chain] : mapped.asked_for) {
        if (!has_prefix(name, stage.prefixes)) continue;
        users[name].push_back(record);
        chains_[name] = chain;
      }
    }
    for (auto& [name, records] : users) records = spread_out(records);
    return users;
  }

  static std::vector<const Record*> spread_out(const std::vector<const Record*>& records) {
    if (records.size() <= kMostRecords) return records;
    std::vector<const Record*> some;
    for (std::size_t i = 0; i < kMostRecords; ++i) some.push_back(records[i * records.size() / kMostRecords]);
    return some;
  }

  void fit_stage(const Stage& stage) {
    MapOptions options;
    options.use_rates = stage.use_rates;
    const auto users = wanted(stage, options);
    for (const auto& [name, records] : users) {
      Constant& constant = catalogue_.constants[name];
      if (constant.value == 0) constant.value = usual_value(name);
      for (const Record* record : records)
        if (std::find(constant.records.begin(), constant.records.end(), record->id) == constant.records.end())
          constant.records.push_back(record->id);
    }
    for (int pass = 0; pass < kPasses; ++pass)
      for (const std::string& prefix : stage.prefixes)
        for (const auto& [name, records] : users)
          if (name.rfind(prefix, 0) == 0) {
            if (pass == 0 && prefix.rfind("speed", 0) != 0) scan(name, records, options);
            search(name, records, options, pass == 0 ? kFirstStep : kFirstStep / 4);
          }
    if (tell_)
      for (const auto& [name, records] : users)
        tell_(name + " = " + short_number(catalogue_.constants[name].value) + " from " +
              std::to_string(records.size()) + " records");
  }

  void add_wider_classes() {
    std::map<std::string, std::vector<std::string>> members;
    for (const auto& [name, chain] : chains_)
      for (std::size_t i = 1; i < chain.size(); ++i)
        if (catalogue_.constants.count(chain[i]) == 0) members[chain[i]].push_back(name);
    for (const auto& [wider, names] : members) {
      double sum = 0;
      Constant constant;
      for (const std::string& name : names) {
        const Constant& member = catalogue_.constants.at(name);
        sum += std::log(member.value);
        constant.records.insert(constant.records.end(), member.records.begin(), member.records.end());
      }
      constant.value = std::exp(sum / static_cast<double>(names.size()));
      std::sort(constant.records.begin(), constant.records.end());
      constant.records.erase(std::unique(constant.records.begin(), constant.records.end()), constant.records.end());
      catalogue_.constants[wider] = constant;
    }
  }

  // |error| over half the width that the inputs' uncertainty alone gives.
  void fit_bounds() {
    std::vector<const Record*> targets;
    for (const Record& record : records_)
      if (record.use == Use::fit && record.value && *record.value > 0) targets.push_back(&record);
    std::map<std::string, std::pair<std::vector<double>, std::vector<std::string>>> classes;
    for (const Prediction& p : predict_records(targets, records_, catalogue_, jobs_)) {
      if (!p.is_mapped() || p.predicted <= 0) continue;
      const double away = *p.record->value - p.predicted;
      const double width = away > 0 ? p.high - p.predicted : p.predicted - p.low;
      auto& [spreads, ids] = classes["bounds/" + p.mapped.bounds_class];
      spreads.push_back(kUncalibrated * std::abs(away) / width);
      ids.push_back(p.record->id);
    }
    for (auto& [name, spread_and_ids] : classes) {
      if (spread_and_ids.first.size() < kFewest) continue;
      auto& [spreads, ids] = spread_and_ids;
      std::sort(spreads.begin(), spreads.end());
      const double at = std::ceil(kInside * static_cast<double>(spreads.size())) - 1;
      const double spread = spreads[static_cast<std::size_t>(std::max(0.0, at))];
      catalogue_.constants[name] = {std::clamp(spread, 0.5, kMostSpread), ids};
    }
  }

  static constexpr double kUncalibrated = 1.3;  // the spread of predict.cpp where none was fitted
  Catalogue catalogue_;
  std::vector<Record> records_;
  int jobs_;
  const std::function<void(const std::string&)>& tell_;
  std::map<std::string, std::vector<std::string>> chains_;
};

}  // namespace

Catalogue fit_constants(const Catalogue& catalogue, const std::vector<Record>& records, int jobs,
                        const std::function<void(const std::string&)>& tell) {
  return Fit(catalogue, records, jobs, tell).run();
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
