#include "sim/quantity/quantity_prediction.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "calib/bus_bandwidth.hpp"
#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/point/calibration.hpp"
#include "sim/stack/priors.hpp"

namespace lockstep::sim::quantity {
namespace {

constexpr double kReachOfBytes = 2.1;       // distance in ln(size) at which the correlation is 1/e: a factor of 8
constexpr double kReachOfGpus = 8;          // the same in ln(GPUs), on which bandwidth hardly depends
constexpr double kSlightestScatter = 1e-6;  // least scatter of given results; two may be for the same point
constexpr double kAlwaysOff = 0.15;         // error of a prediction's logarithm, even without input uncertainty

struct Value {
  double value, low, high;
};

// Reads the fastest time of each set of candidates.
class Times {
 public:
  explicit Times(const std::vector<WorkloadTime>& times) : times_(times) {}
  std::vector<WorkloadTime> all(const Alternatives& runs) {
    const auto first = times_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += runs.size();
    return {first, first + static_cast<std::ptrdiff_t>(runs.size())};
  }
  static WorkloadTime fastest(const std::vector<WorkloadTime>& times) {
    const auto best = std::min_element(
        times.begin(), times.end(), [](const WorkloadTime& a, const WorkloadTime& b) { return a.seconds < b.seconds; });
    return best == times.end() ? WorkloadTime{} : *best;
  }
  WorkloadTime next(const Alternatives& runs) { return fastest(all(runs)); }
  /// Returns why one of the next `runs` could not be simulated; empty: all were. Consumes these runs.
  std::string failure_of_next(std::size_t runs) {
    const auto first = times_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto failed = std::find_if(first, first + static_cast<std::ptrdiff_t>(runs),
                                     [](const WorkloadTime& time) { return !time.failure.empty(); });
    if (failed == first + static_cast<std::ptrdiff_t>(runs)) return "";
    at_ += runs;
    return failed->failure;
  }

 private:
  const std::vector<WorkloadTime>& times_;
  std::size_t at_ = 0;
};

double global_batch(const Alternatives& runs) {
  const Workload& run = runs.front();
  return run.samples() * run.accumulation;
}

double images_per_s(const Alternatives& runs, double seconds) {
  return global_batch(runs) / seconds;
}

// Returns the time of whole iterations, as scenarios and plans do.
double training_s(const QuantityTask& r, double iteration_s) {
  const ConvergenceSpec epochs{"", r.samples, r.epochs};
  return time_to_accuracy(epochs, 0, std::llround(global_batch(r.target)), iteration_s, 1, 1).seconds;
}

// Computes the quantity from the times of target and baseline.
double quantity_of(const QuantityTask& r, const Alternatives& target, double target_s, const Alternatives& baseline,
                   double baseline_s) {
  const double gpus = target.empty() ? 1 : target.front().gpus;
  switch (r.quantity) {
    case Quantity::images_per_s:
      return images_per_s(target, target_s);
    case Quantity::iteration_s:
      return target_s;
    case Quantity::iteration_increase:
      return target_s / baseline_s - 1;
    case Quantity::speedup:
      return images_per_s(target, target_s) / images_per_s(baseline, baseline_s);
    case Quantity::efficiency:
      return images_per_s(target, target_s) / gpus / (images_per_s(baseline, baseline_s) / baseline.front().gpus);
    case Quantity::samples_time_s:
      return r.epochs > 0 ? training_s(r, target_s) : r.samples / images_per_s(target, target_s);
    case Quantity::epochs:
      return r.epochs;
    case Quantity::exchange_s:
      return std::max(1e-9, target_s - baseline_s) * r.factor;
    case Quantity::all_reduce_s:
      return target_s * r.factor;
    case Quantity::bus_bandwidth:
      return calib::all_reduce_bus_factor(gpus) * static_cast<double>(target.front().bytes.front()) / target_s / 1e9;
    case Quantity::algorithm_bandwidth:
      return static_cast<double>(target.front().bytes.front()) / target_s / 1e9;
    case Quantity::alpha_s:
      return std::max(1e-9, target_s - kSmallBytes * (baseline_s - target_s) / (kLargeBytes - kSmallBytes));
    case Quantity::beta_s_per_byte:
      return (baseline_s - target_s) / (kLargeBytes - kSmallBytes);
    case Quantity::time_ratio:
      return baseline_s / target_s;
    case Quantity::staleness:
      return target_s;
    case Quantity::throughput_gain:
      return images_per_s(target, target_s) / images_per_s(baseline, baseline_s) - 1;
    case Quantity::memory:
      return r.estimate.value;
    case Quantity::iterations:
    case Quantity::arrival:
    case Quantity::best_choice:
    case Quantity::needed_choice:
    case Quantity::needed_traffic:
      break;  // not computed from two times; see value_of()
  }
  return 0;
}

Value value_of(const QuantityTask& r, const WorkloadTime& target, const WorkloadTime& baseline) {
  // Errors that both sides of a ratio share cancel.
  const bool is_ratio = r.quantity == Quantity::speedup || r.quantity == Quantity::efficiency ||
                        r.quantity == Quantity::time_ratio || r.quantity == Quantity::iteration_increase;
  const auto of = [&](double target_s, double baseline_s) {
    return quantity_of(r, r.target, target_s, r.baseline, is_ratio ? baseline_s : baseline.seconds);
  };
  Value value{of(target.seconds, baseline.seconds), of(target.low_s, baseline.low_s),
              of(target.high_s, baseline.high_s)};
  if (r.quantity == Quantity::epochs) {
    value.low = value.value * (1 - r.epochs_uncertainty);
    value.high = value.value * (1 + r.epochs_uncertainty);
  } else if (r.epochs > 0) {
    const double below = 1 - value.low / value.value, above = value.high / value.value - 1;
    value.low = value.value * (1 - std::hypot(below, r.epochs_uncertainty));
    value.high = value.value * (1 + std::hypot(above, r.epochs_uncertainty));
  }
  if (value.low > value.high) std::swap(value.low, value.high);
  return value;
}

// Corrects predicted all-reduces by given ones. The logarithms of published over predicted are correlated by
// exp(-distance), so a given one of similar size and number of GPUs tells more. Several are combined by the best linear
// estimate (kriging with that covariance), which passes through all of them.
struct Correction {
  double bytes, gpus;  ///< logarithms
  double log_factor;
};

double correlation(const Correction& a, const Correction& b) {
  return std::exp(-std::abs(a.bytes - b.bytes) / kReachOfBytes - std::abs(a.gpus - b.gpus) / kReachOfGpus);
}

struct Corrected {
  double factor = 1;
  double unknown = 1;  ///< remaining standard deviation, relative to that without given results
};

Corrected corrected(const std::vector<Correction>& given, const Correction& place) {
  if (given.empty()) return {};
  const auto n = static_cast<Eigen::Index>(given.size());
  Eigen::MatrixXd between(n, n);
  Eigen::VectorXd to_place(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Correction& one = given[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < n; ++j) between(i, j) = correlation(one, given[static_cast<std::size_t>(j)]);
    between(i, i) += kSlightestScatter;
    to_place(i) = correlation(one, place);
  }
  const Eigen::VectorXd weights = between.ldlt().solve(to_place);
  double log_factor = 0, known = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    log_factor += weights(i) * given[static_cast<std::size_t>(i)].log_factor;
    known += weights(i) * to_place(i);
  }
  return {std::exp(log_factor), std::sqrt(std::max(0.0, 1 - known))};
}

int nodes_of(const Alternatives& runs) {
  return runs.front().scenario.cluster.nodes;
}

// Links within a node and the network between nodes are independent: an all-reduce on one does not correct the other.
Corrected correction_of(const QuantityTask& r, const std::vector<double>& predicted) {
  const auto place_of = [](double bytes, int gpus) {
    return Correction{std::log(std::max(1.0, bytes)), std::log(gpus), 0};
  };
  std::vector<Correction> given;
  for (std::size_t i = 0; i < r.anchors.size(); ++i) {
    const Anchor& anchor = r.anchors[i];
    if (predicted[i] <= 0 || (nodes_of(anchor.target) == 1) != (nodes_of(r.target) == 1)) continue;
    given.push_back(place_of(anchor.bytes, anchor.gpus));
    given.back().log_factor = std::log(anchor.published / predicted[i]);
  }
  return corrected(given, place_of(r.bytes, r.target.empty() ? 1 : r.target.front().gpus));
}

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Returns the least time in which all bytes of an all-reduce cross the ports of a node. On n nodes, 2 (n - 1) / n of
// the bytes cross; only sums in the network could need fewer. 0: a single node.
double least_on_lines_s(const Workload& run) {
  if (run.kind != Workload::Kind::all_reduce || run.node_line_bytes_per_s <= 0) return 0;
  const double nodes = run.scenario.cluster.nodes;
  double bytes = 0;
  for (std::int64_t one : run.bytes) bytes += static_cast<double>(one);
  return run.share * calib::all_reduce_bus_factor(nodes) * bytes / run.node_line_bytes_per_s;
}

// Returns the upper limit of the quantity: speed-ups are at most linear, and no collective is faster than the ports.
double most_of(const QuantityTask& r) {
  if (r.quantity == Quantity::efficiency) return 1;
  if (r.quantity == Quantity::speedup) return double(r.target.front().gpus) / r.baseline.front().gpus;
  if (r.quantity != Quantity::bus_bandwidth && r.quantity != Quantity::algorithm_bandwidth) return kUnbounded;
  const double least_s = least_on_lines_s(r.target.front());
  return least_s > 0 ? quantity_of(r, r.target, least_s, r.baseline, 0) : kUnbounded;
}

double least_of(const QuantityTask& r) {
  return r.quantity == Quantity::all_reduce_s ? least_on_lines_s(r.target.front()) * r.factor : 0;
}

// Returns the fastest choice. Choices within 1 % of it count as equal and set the interval.
Value best_choice(const std::vector<double>& choices, const std::vector<WorkloadTime>& times) {
  const double best_s = Times::fastest(times).seconds;
  Value best{0, choices.back(), choices.front()};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (times[i].seconds > best_s * 1.01) continue;
    if (times[i].seconds == best_s && best.value == 0) best.value = choices[i];
    best.low = std::min(best.low, choices[i]);
    best.high = std::max(best.high, choices[i]);
  }
  return best;
}

// Interpolates, in logarithms, the choice at which the share of the baseline's speed reaches `wanted`.
std::optional<double> reached(const std::vector<double>& choices, const std::vector<WorkloadTime>& times,
                              double baseline_s, double wanted) {
  const auto share = [&](std::size_t i) { return baseline_s / times[i].seconds; };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (share(i) < wanted) continue;
    if (i == 0) return choices[0];
    const double w = (wanted - share(i - 1)) / (share(i) - share(i - 1));
    return std::exp((1 - w) * std::log(choices[i - 1]) + w * std::log(choices[i]));
  }
  return std::nullopt;
}

constexpr double kSharesOff = 0.04;  // share of the speed; sources differ by this in their definition of full speed
constexpr double kComputeOff = 0.1;  // error of required bandwidth, which is proportional to the speed of computation

std::optional<Value> needed_choice(const QuantityTask& r, const std::vector<WorkloadTime>& times, double baseline_s) {
  const auto at = [&](double share) { return reached(r.choices, times, baseline_s, share); };
  const std::optional<double> value = at(r.wanted_share);
  if (!value) return std::nullopt;
  const double low = at(r.wanted_share - kSharesOff).value_or(*value);
  const double high = at(std::min(r.wanted_share + kSharesOff, 0.99)).value_or(r.choices.back());
  return Value{*value, low * (1 - kComputeOff), high * (1 + kComputeOff)};
}

// Predicts quantities whose intervals are not calibrated.
void predict_uncalibrated(QuantityPrediction& prediction, Times& times) {
  QuantityTask& r = prediction.task;
  const std::vector<WorkloadTime> targets = times.all(r.target);
  const WorkloadTime target = Times::fastest(targets), baseline = times.next(r.baseline);
  Value value{r.estimate.value, r.estimate.low, r.estimate.high};
  if (r.quantity == Quantity::best_choice) {
    value = best_choice(r.choices, targets);
  } else if (r.quantity == Quantity::needed_choice) {
    const std::optional<Value> needed = needed_choice(r, targets, baseline.seconds);
    if (!needed) {
      r.unmapped = "no bandwidth in reason makes " + r.target.front().scenario.name + " scale as wanted";
      return;
    }
    value = *needed;
  } else if (!r.target.empty()) {
    value = value_of(r, target, baseline);
  }
  if (!r.target.empty()) prediction.method = target.method;
  prediction.predicted = value.value * r.per_si;
  prediction.low = std::min(value.low, value.high) * r.per_si;
  prediction.high = std::max(value.low, value.high) * r.per_si;
}

// Returns the relative error of the nodes' decoding rate if the iteration waits for it, else 0. A scenario's
// uncertainties do not include it.
double input_off(const QuantityTask& r, const WorkloadTime& target) {
  if (r.target.empty() || !(target.seconds > 0)) return 0;
  const Workload& run = r.target.front();
  const bool waits = waits_for_input(run.scenario, run.gpus, run.samples() / target.seconds);
  return waits ? r.deviation_of(kDecodedImages) : 0;
}

struct Reach {
  double below = 1.3, above = 1.3;
};

Reach reach_of(const IntervalClass& interval_class, const Catalogue& catalogue) {
  for (const std::string& name : interval_class.names()) {
    const auto below = catalogue.constants.find("bounds below/" + name);
    const auto above = catalogue.constants.find("bounds above/" + name);
    if (below != catalogue.constants.end() && above != catalogue.constants.end())
      return {below->second.value, above->second.value};
  }
  return {};
}

IntervalCalibration calibration_of_class(const QuantityTask& task, const IntervalClass& of,
                                         const Catalogue& catalogue) {
  const Reach reach = reach_of(of, catalogue);
  // Few results of AMD's GPUs were fitted. The uncertainty of their speed is added to a width calibrated on NVIDIA's.
  const bool is_fixed = of.has_fixed_width();
  const double always =
      is_fixed ? std::hypot(std::hypot(kAlwaysOff, task.deviation_of(kSpeedOnAmd)), task.deviation_of(kTuningOnAmd))
               : kAlwaysOff;
  return {always, task.deviation_of(kDecodedImages), !is_fixed, reach.below, reach.above};
}

void predict_one(QuantityPrediction& prediction, Times& times, const Catalogue& catalogue) {
  if (!prediction.task.interval_class.is_calibrated()) return predict_uncalibrated(prediction, times);
  const QuantityTask& r = prediction.task;
  const WorkloadTime target = times.next(r.target), baseline = times.next(r.baseline);
  Value value = value_of(r, target, baseline);
  std::vector<double> at_anchors;
  for (const Anchor& anchor : r.anchors) {
    const double target_s = times.next(anchor.target).seconds, baseline_s = times.next(anchor.baseline).seconds;
    at_anchors.push_back(quantity_of(r, anchor.target, target_s, anchor.baseline, baseline_s));
  }
  const Corrected correction = correction_of(r, at_anchors);
  if (!r.target.empty()) prediction.method = target.method;
  prediction.predicted = value.value * correction.factor * r.per_si;
  const double input = input_off(r, target);
  prediction.off_below = correction.unknown * std::hypot(log_distance(value.low, value.value), input);
  prediction.off_above = correction.unknown * std::hypot(log_distance(value.value, value.high), input);
  set_interval(prediction, calibration_of(r, catalogue));
}

void append(std::vector<const Workload*>& runs, const Alternatives& alternatives) {
  for (const Workload& run : alternatives) runs.push_back(&run);
}

void append_all(std::vector<const Workload*>& runs, const QuantityTask& task) {
  append(runs, task.target);
  append(runs, task.baseline);
  for (const Anchor& anchor : task.anchors) {
    append(runs, anchor.target);
    append(runs, anchor.baseline);
  }
}

}  // namespace

double half_width(const QuantityPrediction& prediction, double off) {
  return half_width(calibration_of_class(prediction.task, prediction.task.interval_class, Catalogue()), off);
}

IntervalCalibration calibration_of(const QuantityTask& task, const Catalogue& catalogue) {
  IntervalCalibration calibration = calibration_of_class(task, task.interval_class, catalogue);
  if (task.interval_class.without_rate.empty()) return calibration;
  const IntervalCalibration without =
      calibration_of_class(task, IntervalClass{task.interval_class.without_rate, {}}, catalogue);
  if (without.counts_inputs) {
    calibration.below = std::min(calibration.below, without.below);
    calibration.above = std::min(calibration.above, without.above);
  } else {
    calibration.most_below = without.below * without.always;
    calibration.most_above = without.above * without.always;
  }
  return calibration;
}

void set_interval(QuantityPrediction& prediction, const IntervalCalibration& calibration) {
  const QuantityTask& r = prediction.task;
  if (!prediction.is_mapped() || !r.interval_class.is_calibrated()) return;
  const bool is_share = r.quantity == Quantity::efficiency || r.quantity == Quantity::speedup;
  if (is_share && !r.baseline.empty() && r.target.front().gpus == r.baseline.front().gpus) {
    prediction.low = prediction.high = prediction.predicted;  // a value relative to itself has no error
    return;
  }
  prediction.low = prediction.predicted / factor_below(calibration, prediction.off_below);
  prediction.high = prediction.predicted * factor_above(calibration, prediction.off_above);
  if (prediction.low > prediction.high) std::swap(prediction.low, prediction.high);
  prediction.high = std::min(prediction.high, std::max(prediction.predicted, most_of(r) * r.per_si));
  prediction.low = std::max(prediction.low, std::min(prediction.predicted, least_of(r) * r.per_si));
}

void predict_quantities(const std::vector<QuantityPrediction*>& predictions, const Catalogue& catalogue,
                        const TimingOptions& timing) {
  std::vector<const Workload*> workloads;
  for (const QuantityPrediction* prediction : predictions) append_all(workloads, prediction->task);
  const std::vector<WorkloadTime> results = time_workloads(workloads, timing);
  Times times(results);
  for (QuantityPrediction* prediction : predictions) {
    if (!prediction->is_mapped()) continue;
    std::vector<const Workload*> own;
    append_all(own, prediction->task);
    const std::string failure = times.failure_of_next(own.size());
    if (failure.empty())
      predict_one(*prediction, times, catalogue);
    else
      prediction->task.unmapped = "it cannot be simulated: " + failure;
  }
}

}  // namespace lockstep::sim::quantity
