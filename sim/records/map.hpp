#pragma once
// From the facts of a published result, or of a job, to what must be simulated for it.
//
// A job names a GPU, links, a model and an algorithm by the catalogue's ids, given results of its experiment say measured
// rates, and fitted constants say what the software makes of the hardware. Everything that a job leaves open and that is
// assumed is listed; what has no place in the catalogue, and what is not simulated, makes it `unmapped`, with why.
//
//   computation     the roofline of layer_cost.hpp with efficiencies 0.6 speed (FLOP) and 0.8 speed (bytes); `speed` is
//                   fitted per GPU and precision, per software and per family of networks; which kernels fuse and copy
//                   what is the software's (stacks.json). A rate of one GPU of the same experiment anchors it.
//   communication   S-SGD with the algorithm that the job names (`ring`, `double-binary-tree`, ...). Links carry the
//                   catalogue's bandwidth times the share that the software reaches.
//   stragglers      lognormal jitter of the compute time, its width fitted per GPU.
//   epochs          E(B) = E_min (1 + B / B_crit), which is S(B) = S_min (1 + B_crit / B) steps (McCandlish et al.
//                   2018) times B; both constants fitted per round of MLPerf, of ResNet-50. Beyond 65,536 images
//                   extrapolated, and said.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/records/job_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {
inline namespace records {

/// Between these sizes of an all-reduce, alpha and beta are a line.
constexpr std::int64_t kSmallBytes = 1024, kLargeBytes = 64 << 20;

/// A layer whose staleness is asked for: between two of the model's modules.
struct StalenessSpec {
  Statistic statistic = Statistic::mean;
  std::string below, above;
  double share = 0;  ///< of the way from `below` to `above`
};

/// The constant that says what evaluation adds to a training's samples.
inline constexpr const char* kEvaluationShare = "evaluation share";
/// And what a training of images takes over its iterations at the rates of benchmarks, where no rate of its own is given:
/// evaluations, input, start-up, and code that nobody tuned for a table.
inline constexpr const char* kTrainingOverBenchmark = "training over benchmark";

/// Images/s that a node's processors read, decode and augment.
inline constexpr const char* kDecodedImages = "images decoded";

/// An iteration of training, all-reduces one after the other on an idle machine, or the staleness of asynchronous SGD.
struct RecordRun {
  enum class Kind { iteration, all_reduce, staleness };
  Kind kind = Kind::iteration;
  Scenario scenario;
  int gpus = 1;
  int batch_per_gpu = 1;            ///< iteration: of a micro-step
  int accumulation = 1;             ///< iteration: micro-steps from one exchange and update to the next
  std::vector<std::int64_t> bytes;  ///< all_reduce: of each
  double share = 1;                 ///< all_reduce: of its steps; half for a reduce-scatter or an all-gather
  StalenessSpec staleness;

  /// Of an iteration, over all GPUs.
  double samples() const;
  /// A GPU without a machine around it, which needs no simulation.
  bool is_alone() const {
    return kind == Kind::iteration && gpus == 1 && scenario.cluster.host.memory_bandwidth_bytes_per_s == 0;
  }
};

/// One run, or several of which the fastest is asked for (best_choice, needed_choice); none where nothing is run.
using Alternatives = std::vector<RecordRun>;

/// A given result of the same experiment and metric: predictions are multiplied by published over predicted, there.
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
  samples_time_s,      ///< `samples` images; with epochs the whole iterations of so many times `samples`
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

/// What follows from given records without a simulation.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

struct MappedRecord {
  std::string unmapped;  ///< why; empty: it is mapped
  Quantity quantity = Quantity::images_per_s;
  Alternatives target;
  Alternatives baseline;  ///< where the quantity needs one
  double samples = 0;     ///< samples_time_s; with epochs those of one
  double factor = 1;      ///< on all_reduce_s, exchange_s
  double per_si = 1;      ///< of the record's unit
  double epochs = 0;
  double epochs_uncertainty = 0;
  std::vector<double> choices;  ///< best_choice, needed_choice: one for each target
  double wanted_share = 0.95;
  Estimate estimate;
  bool is_share = false;  ///< arrival: a probability
  std::vector<Anchor> anchors;
  std::vector<Assumption> assumptions;  ///< pointer: the job's key
  std::set<std::string> constants;      ///< that it rests on
  /// The most specific name of every constant it asked for, with the names that stand in where that was not fitted.
  std::map<std::string, std::vector<std::string>> asked_for;
  std::map<std::string, double> variances;  ///< of the logarithms of the constants' values, by their widest names
  bool uses_results = false;                ///< of its experiment: it does not rest on the job's facts alone
  double bytes = 0;                         ///< of an all-reduce that is asked for; 0: not stated
  std::string bounds_class;                 ///< whose calibration the bounds use; empty: they are not calibrated

  /// Its computing goes by given rates, not by constants alone.
  bool has_rates() const { return !target.empty() && !target.front().scenario.compute.rates.empty(); }
  /// Standard deviation of the logarithm of all constants together whose names begin so.
  double deviation_of(const std::string& prefix) const;
};

/// What may be used beside the job itself.
struct MapOptions {
  bool use_rates = true;     ///< given rates and times of the experiment; without: what the constants alone say
  bool use_anchors = true;   ///< given all-reduces of the experiment
  bool needs_room = true;    ///< refuses a replica that no GPU holds; jobs have a check of all of their memory
  bool keeps_limits = true;  ///< of constants (usual.hpp); without: how a prediction would move beyond
  Fidelity fidelity = Scenario().fidelity;
};

/// `given` are the results that may be used, in an order that does not depend on the file they came from: given_jobs().
MappedRecord map_job(const JobSpec& job, const std::vector<JobSpec>& given, const Catalogue& catalogue,
                     const MapOptions& options = {});

/// The jobs of those records that are inputs, by their ids: whatever the order of the records, and whatever else is
/// among them, the same.
std::vector<JobSpec> given_jobs(const std::vector<Record>& records, const Catalogue& catalogue);

}  // namespace records
}  // namespace lockstep::sim
