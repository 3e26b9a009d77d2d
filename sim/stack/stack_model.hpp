#pragma once
// The stack model: turns a job's facts into a scenario, by laws of its software and hardware.
//
// The job's GPU, links, model, software and exchange are entries of the catalogue. Measured rates anchor the
// computation. Fitted constants say how well the software uses the hardware. Facts that the job does not give are
// assumed here, and listed.
//
//   computation     the roofline of layer_cost.hpp with efficiencies 0.6 speed (FLOP) and 0.8 speed (bytes). `speed` is
//                   fitted per GPU and precision, per software and per family of networks. stacks.json says which
//                   kernels a software fuses and which copies it makes. A measured rate of one GPU anchors the
//                   computation.
//   communication   S-SGD with the job's exchange (`ring`, `double-binary-tree`, ...). A link has the catalogue's
//                   bandwidth times the share that the software reaches.
//   stragglers      lognormal jitter of the compute time, its width fitted per GPU
//
// One file per part: cluster.cpp, compute.cpp, sequence_kernels.cpp, exchange.cpp, split.cpp, memory.cpp.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/model/zoo/zoo.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/job/job.hpp"
#include "sim/program/split_space.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::stack {

/// Thrown if a job cannot be modelled. If another choice would make it possible, an InputError names it instead.
struct Unmapped {
  std::string why;
};

/// Thrown if a split is given for a model that cannot be split, only replicated (whole_replicas.hpp).
struct NotSplittable : Unmapped {};

struct StackOptions {
  bool use_rates = true;         ///< anchors computation in measured rates; false: uses constants alone
  bool has_machine = false;      ///< gives even a job of one GPU links and an exchange, as in its scenario
  bool needs_room = true;        ///< refuses a replica that no GPU can hold; commands check a job's memory instead
  bool clamps_constants = true;  ///< limits constants as in priors.hpp; false: for derivatives in the fit
  Fidelity fidelity = Scenario().fidelity;
};

/// The inputs of a prediction other than the job's own facts.
struct Inputs {
  std::vector<Assumption> assumptions;  ///< `pointer` is the job's key
  std::set<std::string> constants;      ///< names of the fitted constants used
  /// Requested constants: from the most specific name to all names of its chain, the most general one last.
  std::map<std::string, std::vector<std::string>> asked_for;
  std::map<std::string, double> variances;  ///< of the constants' logarithms, by most general name
  /// Keys of the assumptions that stand in for facts which the job does not give.
  std::set<std::string> defaults;
  bool uses_results = false;  ///< uses results of the same experiment, other than the job's own facts

  void assume(const std::string& key, const Json& value, const std::string& source);
  /// Lists a default of a fact that the job does not give; `reason` may be empty.
  void assume_default(const std::string& key, const Json& value, const std::string& reason);
  /// Combined standard deviation of the logarithms of all constants whose names begin with `prefix`.
  double deviation_of(const std::string& prefix) const;
};

enum class Statistic { min, mean, median, max, sd };

inline const Choices<Statistic>& choices_of(Statistic) {
  static const Choices<Statistic> all{{Statistic::min, "min"},
                                      {Statistic::mean, "mean"},
                                      {Statistic::median, "median"},
                                      {Statistic::max, "max"},
                                      {Statistic::sd, "sd"}};
  return all;
}

/// The layer whose gradient staleness is requested. It lies between two of the model's modules.
struct StalenessSpec {
  Statistic statistic = Statistic::mean;
  std::string below, above;
  double share = 0;  ///< position between `below` and `above`, 0 to 1
};

/// The simulated work: an iteration of training, all-reduces one after the other on an idle machine, or the staleness
/// of asynchronous SGD.
struct [[nodiscard]] Workload {
  enum class Kind { iteration, all_reduce, staleness };
  Kind kind = Kind::iteration;
  Scenario scenario;
  int gpus = 1;
  int batch_per_gpu = 1;             ///< iteration: samples of a micro-step
  int accumulation = 1;              ///< iteration: micro-steps per exchange and update
  std::vector<std::int64_t> bytes;   ///< all_reduce: of each operation, which run one after the other
  double share = 1;                  ///< all_reduce: performed part; half for a reduce-scatter or an all-gather
  double node_line_bytes_per_s = 0;  ///< all_reduce: rate of all ports of a node; 0: one node
  StalenessSpec staleness;
  int label = 0;  ///< workloads that are timed together and have the same label take equally long; 0: no label

  /// Returns the samples of an iteration on all GPUs.
  double samples() const;
  /// True for one GPU without links, which needs no simulation.
  bool is_one_gpu() const {
    return kind == Kind::iteration && gpus == 1 && scenario.cluster.host.memory_bandwidth_bytes_per_s == 0;
  }
};

/// A job while its scenario is made: the catalogue's entries for its names, and the inputs used so far.
struct StackModel {
  const Job& job;
  const Catalogue& catalogue;
  const StackOptions& options;
  Inputs& inputs;

  const GpuEntry* gpu = nullptr;
  const StackEntry* stack = nullptr;
  const ModelEntry* model = nullptr;
  Precision precision = Precision::fp32;
  Wire wire = Wire::fp32;
  const IntraNodeEntry* intra_node = nullptr;  ///< set by the last cluster_of(), as is `network`
  const NetworkEntry* network = nullptr;       ///< nullptr: one node
  double node_line_bytes_per_s = 0;            ///< nominal rate of all ports of a node; 0: one node
  /// The job's transformer with scores in memory, if the job says so and its model has fused attention.
  std::shared_ptr<const model::Graph> unfused{};

  void assume(const std::string& key, const Json& value, const std::string& source) {
    inputs.assume(key, value, source);
  }
  void assume_default(const std::string& key, const Json& value, const std::string& reason) {
    inputs.assume_default(key, value, reason);
  }
  /// Lists the job's assumption about `key`, if there is one, under `name`. Returns whether there is one.
  bool list_assumed(const std::string& name, const Json& value, const std::string& key);
  /// Lists the catalogue's figures of an entry.
  void note(const std::string& key, const std::vector<Assumption>& facts);
  /// Returns the product of the fitted constants of these names (most specific first) and the prior of the last name
  /// (priors.hpp). Lists them as inputs.
  double constant(const std::vector<std::string>& names);
};

/// Entries of the catalogue without which a question cannot be answered.
struct NeededEntries {
  bool gpu = true, model = true;
};

/// Looks up the job's software, GPU and model, and sets the precision of the layers and of the wire. Throws Unmapped
/// for a name that the catalogue lacks, if the entry is needed.
void find_entries(StackModel& m, NeededEntries needed = {});

Precision precision_of(StackModel& m);
Wire wire_of(const StackModel& m);
/// True if the job's only GPU copies its gradients to a server in host memory and waits for them.
bool copies_to_server(const StackModel& m);
CommunicationSpec communication_of(StackModel& m, const ClusterSpec& cluster);
/// Sets the all-reduce to a ring: NCCL's ring if NCCL is modelled, else a plain one.
void use_rings(CommunicationSpec& communication);
/// Adds the job's all-reduce to the workload.
Workload with_all_reduce(StackModel& m, Workload workload);
/// Adds the job's exchange to an iteration: parameter servers, sufficient factors, learners, or all-reduces.
Workload with_exchange(StackModel& m, Workload workload);

/// True if the job's replicas are groups of GPUs or share their state.
bool is_split(const Job& job);

/// The reason for the default batch of a task (GivenSplit::task).
std::string why_default_batch(const std::string& task);
/// Returns the least tokens of a default global batch. Fine-tuning has a least number of sequences instead.
std::int64_t least_default_tokens(int sequence_tokens, int gpus, const std::string& task);
/// Returns the sequences of an iteration that a job with a searched split gives for `gpus` GPUs; 0: none.
/// A batch per GPU is multiplied by GPUs and accumulation.
/// A micro-batch is multiplied by replicas and accumulation. There are as many replicas as the given values allow; the
/// search takes fewer if none of their splits fits.
std::int64_t batch_of_search(const Job& job, int gpus);
/// Returns the default global batch in sequences, for a job whose split is searched. It is the odd part of `gpus` times
/// the given accumulation (0: none) and the smallest power of two with which it reaches least_default_tokens().
///
/// With long sequences the batch can be smaller than `gpus`, unless the software cannot split replicas: then every GPU
/// needs a sequence.
std::int64_t default_global_batch(int sequence_tokens, int gpus, const SplitAbilities& splits, const std::string& task,
                                  int accumulation);
/// Returns the given micro-batch, or else 1. Lists the default as assumed, unless the split is searched.
int micro_batch_or_default(StackModel& m);
/// Returns the activations to recompute: as given, in the software's meaning of the term, else by its default.
Recomputation recomputation_of(const StackModel& m);
/// Returns the keys of the split to search: all that the job does not give and its software supports.
SplitQuestion split_question(const StackModel& m, const Scenario& scenario);
/// Throws NotSplittable if the model cannot be split.
void check_splittable(const model::Graph& graph);
Workload with_split(StackModel& m, Workload workload);

/// Returns the cluster of `gpus` GPUs.
ClusterSpec cluster_of(StackModel& m, int gpus);
/// Sets efficiencies, launches and jitter, and uses rates measured on `gpus` GPUs or on one.
ComputeSpec compute_of(StackModel& m, int gpus, int batch);
int batch_of(StackModel& m);
/// Returns micro-steps per update: as given, else global batch / (GPUs x batch per GPU) if that is whole, else 1.
int accumulation_of(const StackModel& m, int gpus, int batch);
/// Names under which set_sequence_kernels() lists its inputs.
constexpr const char* kKernelLaws = "laws of single kernels";
constexpr const char* kFusedAttention = "what fused attention reaches, over its law";
constexpr const char* kUnalignedProducts = "products of a vocabulary that is not padded, over others";
constexpr const char* kGeluBytes = "bytes of the GELU per element";
constexpr const char* kSoftmaxBytes = "bytes of a score in its softmax";
constexpr const char* kRmsNormBytes = "bytes of RMS norms per element";
constexpr const char* kRotaryBytes = "bytes of rotary positions per element";
constexpr const char* kLossBytes = "bytes of the loss per score";
constexpr const char* kSumBytes = "bytes of an element of sums and norms";
/// Name of the constant for images/s that the processors of a node read, decode and augment.
constexpr const char* kDecodedImages = "images decoded";
/// True if attention keeps its scores on the chip: as given, else if the software has such kernels for the GPU. Throws
/// InputError if such kernels are given but do not exist.
bool has_fused_attention(const StackModel& m);
/// Sets the costs of transformer kernels in `compute`, by software and GPU. Requires `m.precision`.
void set_sequence_kernels(StackModel& m, ComputeSpec& compute);
/// Returns the job's model, with fused attention if has_fused_attention().
const model::Graph& graph_of(StackModel& m);
int gpus_of(const StackModel& m);

/// Makes the workload of an iteration; all_reduce_workload() makes that of all-reduces.
Workload iteration_workload(StackModel& m, int gpus, int batch);
Workload all_reduce_workload(StackModel& m, int gpus, const std::vector<std::int64_t>& bytes);

/// Returns the highest peak memory of any GPU, as `counter` reports it.
double peak_memory_bytes(const Workload& workload, MemoryCounter counter);
/// Checks that a transformer without a split fits on a GPU. If the optimizer's state does not, assumes that it is
/// sharded, and lists that (ZeRO-1 exchanges as much as an all-reduce). Throws Unmapped if weights and gradients do not
/// fit either.
void check_whole_replica(StackModel& m, const Scenario& scenario);

}  // namespace lockstep::sim::stack
