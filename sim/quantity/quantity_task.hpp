#pragma once
// A quantity to predict: which workloads are timed for it, and how it follows from their times.
#include <string>
#include <vector>

#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::quantity {

/// The line alpha + beta x bytes goes through all-reduces of these two sizes.
constexpr std::int64_t kSmallBytes = 1024, kLargeBytes = 64 << 20;

/// The constant that says what evaluation adds to a training's samples.
inline constexpr const char* kEvaluationShare = "evaluation share";
/// Another constant: the time of image trainings over the sum of their iterations at the rates of benchmarks. It
/// applies if no rate was measured. The difference is evaluations, input, start-up, and code that nobody tuned for a
/// table.
inline constexpr const char* kTrainingOverBenchmark = "training over benchmark";

/// One workload, or several candidates (best_choice, needed_choice); empty if nothing is timed.
using Alternatives = std::vector<Workload>;

/// A published all-reduce of the same experiment. Predictions are scaled by published / predicted of the nearest anchors.
struct Anchor {
  Alternatives target;
  Alternatives baseline;
  double published;  ///< in SI, bandwidths in GB/s
  double bytes;
  int gpus;
};

enum class Quantity {
  images_per_s,
  iteration_s,
  iteration_increase,  ///< over the baseline's, minus 1
  speedup,             ///< over the baseline in images/s
  efficiency,          ///< over the baseline in images/s per GPU
  samples_time_s,      ///< of `samples` samples, or of `epochs` times as many, rounded up to whole iterations
  epochs,
  exchange_s,  ///< an iteration less the baseline's, times `factor`
  all_reduce_s,
  bus_bandwidth,        ///< GB/s: 2(n-1)/n bytes/s
  algorithm_bandwidth,  ///< GB/s: bytes/s
  alpha_s,              ///< of a line through two sizes
  beta_s_per_byte,
  time_ratio,       ///< baseline's iteration over the target's
  staleness,        ///< updates
  best_choice,      ///< the one of `choices` whose target is fastest
  needed_choice,    ///< the least of `choices` whose target is as fast as `wanted_share` of the baseline
  needed_traffic,   ///< `estimate`
  throughput_gain,  ///< target's images/s over the baseline's, minus 1
  iterations,       ///< `estimate`
  arrival,          ///< `estimate`
  memory,           ///< `estimate`
};

/// A value that follows without a simulation.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// Predictions whose intervals are calibrated together. `kinds` is a path from general to specific: {"sequences", "other",
/// "little work"}.
struct IntervalClass {
  std::vector<std::string> kinds;
  std::vector<std::string> without_rate{};  ///< of the same prediction without a measured rate; empty: it has none

  bool is_calibrated() const { return !kinds.empty(); }
  /// "sequences, other, little work"
  std::string name() const;
  /// Names of this class and its fallbacks, most specific first. The last one is "all"; for transformers' rates it is
  /// "sequences", because their reach has another unit.
  std::vector<std::string> names() const;
  /// True if the width ignores input uncertainty, which did not predict the errors of this class.
  bool has_fixed_width() const;
};

struct [[nodiscard]] QuantityTask : Inputs {
  std::string unmapped;  ///< why there is no task; empty: there is one
  Quantity quantity = Quantity::images_per_s;
  Alternatives target;
  Alternatives baseline;  ///< where the quantity needs one
  double samples = 0;     ///< samples_time_s; with `epochs` those of one epoch
  double factor = 1;      ///< on all_reduce_s, exchange_s
  double per_si = 1;      ///< the result is the SI value times this
  double epochs = 0;
  double epochs_uncertainty = 0;
  std::vector<double> choices;  ///< best_choice, needed_choice: one for each target
  double wanted_share = 0.95;
  Estimate estimate;
  bool is_share = false;  ///< arrival: a probability
  std::vector<Anchor> anchors;
  double bytes = 0;                ///< of an all-reduce; 0: not given
  bool is_whole_training = false;  ///< of a model of sequences, by the calendar (calendar.hpp)
  IntervalClass interval_class;

  /// True if measured rates, not only constants, anchor its computation.
  bool has_rates() const { return !target.empty() && !target.front().scenario.compute.rates.empty(); }
};

/// Sets the target to an iteration on the job's GPUs.
void set_iteration(StackModel& m, QuantityTask& task);
/// Sets the baseline to an iteration on `gpus` GPUs, at the target's batch per GPU or with its global batch.
void set_baseline(StackModel& m, QuantityTask& task, Quantity quantity, int gpus, bool is_strong_scaling);
/// The quantity is the time of a training by the target's iterations: its epochs, with their evaluations.
void set_training(StackModel& m, QuantityTask& task);

/// The factor by which published trainings of images took longer than their iterations. None for software whose rates are
/// those of its trainings, for measured rates, and for networks of sequences.
std::optional<double> training_over_benchmark(StackModel& m, const QuantityTask& task);
/// Samples of an epoch of the job's data set. Throws Unmapped where they are not known.
double train_samples(const StackModel& m);
/// Epochs to the accuracy and their relative uncertainty: as given, or by the law of E(B). `is_wanted`: they are the
/// quantity itself, so that given ones do not count.
void set_epochs(StackModel& m, QuantityTask& task, bool is_wanted);

/// The interval of whole trainings of language models. Published ones took longer than their iterations and
/// calendar.hpp say, for example for other stages and for code that nobody tuned for a table.
IntervalClass whole_training_class();
/// The class of the prediction's interval, once `task` is complete.
IntervalClass interval_class_of(const StackModel& m, const QuantityTask& task);

}  // namespace lockstep::sim::quantity
