#pragma once
// Defines a quantity to predict: the workloads to time, and how to compute the quantity from their times.
#include <string>
#include <vector>

#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

/// Sizes of the two all-reduces that determine the line alpha + beta x bytes.
constexpr std::int64_t kSmallBytes = 1024, kLargeBytes = 64 << 20;

/// Name of the constant for the share of evaluations in a training's samples.
inline constexpr const char* kEvaluationShare = "evaluation share";
/// Name of the constant for the time of image trainings over the sum of their iterations at the rates of benchmarks. It
/// applies if no rate was measured. The difference is evaluations, input, start-up, and code that was tuned less than
/// that of benchmarks.
inline constexpr const char* kTrainingOverBenchmark = "training over benchmark";

/// One workload, or several candidates (best_choice, needed_choice); empty if nothing is timed.
using Alternatives = std::vector<Workload>;

/// A published all-reduce of the same experiment. Predictions are scaled by published / predicted of the nearest
/// anchors.
struct Anchor {
  Alternatives target;
  Alternatives baseline;
  double published;  ///< in SI units; bandwidths in GB/s
  double bytes;
  int gpus;
};

enum class Quantity {
  images_per_s,
  iteration_s,
  iteration_increase,  ///< relative to the baseline's, minus 1
  speedup,             ///< images/s relative to the baseline's
  efficiency,          ///< images/s per GPU relative to the baseline's
  samples_time_s,      ///< time of `samples` samples, or of `epochs` times as many, in whole iterations
  epochs,
  exchange_s,  ///< an iteration minus the baseline's, times `factor`
  all_reduce_s,
  bus_bandwidth,        ///< 2(n-1)/n S/t in GB/s
  algorithm_bandwidth,  ///< S/t in GB/s
  alpha_s,              ///< intercept of the line through two sizes
  beta_s_per_byte,
  time_ratio,       ///< baseline's iteration over the target's
  staleness,        ///< updates
  best_choice,      ///< element of `choices` with the fastest target
  needed_choice,    ///< least element of `choices` whose target reaches `wanted_share` of the baseline's speed
  needed_traffic,   ///< `estimate`
  throughput_gain,  ///< target's images/s over the baseline's, minus 1
  iterations,       ///< `estimate`
  arrival,          ///< `estimate`
  memory,           ///< `estimate`
};

/// A value that needs no simulation.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// Predictions of one class have their intervals calibrated together. `kinds` is a path from general to specific, such
/// as {"sequences", "other", "little work"}.
struct IntervalClass {
  std::vector<std::string> kinds;
  std::vector<std::string> without_rate{};  ///< class of the same prediction without a measured rate; empty: none

  bool is_calibrated() const { return !kinds.empty(); }
  /// Returns a name such as "sequences, other, little work".
  std::string name() const;
  /// Returns the names of this class and its fallbacks, most specific first. The last one is "all", or "sequences" for
  /// transformers' rates, because their distances have another unit.
  std::vector<std::string> names() const;
  /// True if the width ignores input uncertainty, which did not predict the errors of this class.
  bool has_fixed_width() const;
};

struct [[nodiscard]] QuantityTask : Inputs {
  std::string unmapped;  ///< why there is no task; empty: there is one
  Quantity quantity = Quantity::images_per_s;
  Alternatives target;
  Alternatives baseline;  ///< empty if the quantity needs none
  double samples = 0;     ///< samples_time_s: samples of the training; with `epochs`, of an epoch
  double factor = 1;      ///< factor on all_reduce_s and exchange_s
  double per_si = 1;      ///< the result in its unit over its SI value
  double epochs = 0;
  double epochs_uncertainty = 0;
  std::vector<double> choices;  ///< best_choice, needed_choice: one per target
  double wanted_share = 0.95;
  Estimate estimate;
  bool is_share = false;  ///< arrival: the result is a probability
  std::vector<Anchor> anchors;
  double bytes = 0;                ///< of an all-reduce; 0: not given
  bool is_whole_training = false;  ///< calendar time of training a language model (calendar.hpp)
  IntervalClass interval_class;

  /// True if the target's computation is scaled to given rates (compute.rates).
  bool has_rates() const { return !target.empty() && !target.front().scenario.compute.rates.empty(); }
};

/// Sets the target to an iteration on the job's GPUs.
void set_target_iteration(StackModel& m, QuantityTask& task);
/// Sets the baseline to an iteration on `gpus` GPUs, at the target's batch per GPU or with its global batch.
void set_baseline(StackModel& m, QuantityTask& task, Quantity quantity, int gpus, bool is_strong_scaling);
/// Names the input that lists the samples to MLPerf's target, in millions.
inline constexpr const char* kMlperfSamples = "samples to the target, millions";

/// Sets the quantity to the time of a training: the target's iterations over all epochs, including evaluations.
void set_training(StackModel& m, QuantityTask& task);

/// Returns the factor by which published image trainings took longer than the sum of their iterations. None if rates
/// were measured, if the software's rates come from trainings, and for networks of sequences.
std::optional<double> find_training_factor(StackModel& m, const QuantityTask& task);
/// Returns the samples per epoch of the job's data set. Throws Unmapped if they are unknown.
double train_samples(const StackModel& m);
/// Sets the epochs to the accuracy and their relative uncertainty: as given, or by the law of E(B). If the epochs are
/// the predicted quantity (`is_wanted`), given ones are ignored.
void set_epochs(StackModel& m, QuantityTask& task, bool is_wanted);

/// Returns the interval class of whole trainings of language models. Published trainings took longer than their
/// iterations and calendar.hpp predict. Causes are, for example, other stages of training, and code that is less tuned
/// than benchmarks.
IntervalClass whole_training_class();
/// Returns the class of the prediction's interval; `task` must be complete.
IntervalClass interval_class_of(const StackModel& m, const QuantityTask& task);
/// Sets whether the run's passes have little work, if the class depends on it: a searched split has another micro-batch
/// than the task had when its class was found.
void set_work_of_pass(const Workload& run, bool has_adapters, IntervalClass& interval_class);

}  // namespace lockstep::sim::quantity
