#pragma once
// The stack model: from a job's facts to a scenario, by the laws of its software and hardware.
//
// A job names a GPU, links, a model, software and an exchange by the catalogue's entries; measured rates anchor it; fitted
// constants say how well the software uses the hardware. What a job does not give is assumed here, and listed.
//
//   computation     the roofline of layer_cost.hpp with efficiencies 0.6 speed (FLOP) and 0.8 speed (bytes); `speed` is
//                   fitted per GPU and precision, per software and per family of networks; which kernels fuse and copy
//                   what is the software's (stacks.json). A measured rate of one GPU anchors it.
//   communication   S-SGD with the exchange that the job names (`ring`, `double-binary-tree`, ...). Links carry the
//                   catalogue's bandwidth times the share that the software reaches.
//   stragglers      lognormal jitter of the compute time, its width fitted per GPU.
//
// One file per part: cluster.cpp, compute.cpp, sequence_kernels.cpp, exchange.cpp, split.cpp, memory.cpp.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/model/zoo/zoo.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/job/job.hpp"
#include "sim/program/split_space.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::stack {

/// Thrown if a job cannot be modelled. If the user can change the request so that it can, InputError says how.
struct Unmapped {
  std::string why;
};

/// A split of a model that no split is known of: each GPU can only hold a whole replica (whole_replicas.hpp).
struct NotSplittable : Unmapped {};

struct StackOptions {
  bool use_rates = true;     ///< measured rates anchor computation; without: what the constants alone say
  bool has_machine = false;  ///< one GPU gets links and exchange, too, as its scenario has them; more always do
  bool needs_room = true;    ///< refuses a replica that no GPU holds; commands check all of a job's memory instead
  bool clamps_constants =
      true;  ///< to the limits of priors.hpp; false: constants may exceed them, for derivatives of the fit
  Fidelity fidelity = Scenario().fidelity;
};

/// Everything that a prediction rests on besides the job itself.
struct Inputs {
  std::vector<Assumption> assumptions;  ///< pointer: the job's key
  std::set<std::string> constants;      ///< names of the fitted constants that it rests on
  /// Requested constants: the most specific name, with all names from it to the most general one.
  std::map<std::string, std::vector<std::string>> asked_for;
  std::map<std::string, double> variances;  ///< of the logarithms of constants, by their most general names
  /// Keys of the assumptions that replace facts which the job does not give.
  std::set<std::string> defaults;
  bool uses_results = false;  ///< of the same experiment, besides the job's own facts

  void assume(const std::string& key, const Json& value, const std::string& source);
  /// The same for a default of a fact that the job does not give; `reason` may be empty.
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

/// The layer whose staleness is wanted: between two of the model's modules.
struct StalenessSpec {
  Statistic statistic = Statistic::mean;
  std::string below, above;
  double share = 0;  ///< of the way from `below` to `above`
};

/// What is timed: an iteration of training, all-reduces one after the other on an idle machine, or the staleness of
/// asynchronous SGD.
struct [[nodiscard]] Workload {
  enum class Kind { iteration, all_reduce, staleness };
  Kind kind = Kind::iteration;
  Scenario scenario;
  int gpus = 1;
  int batch_per_gpu = 1;             ///< iteration: of a micro-step
  int accumulation = 1;              ///< iteration: micro-steps from one exchange and update to the next
  std::vector<std::int64_t> bytes;   ///< all_reduce: of each
  double share = 1;                  ///< all_reduce: of its steps; half for a reduce-scatter or an all-gather
  double node_line_bytes_per_s = 0;  ///< all_reduce: of the ports of a node; 0: one node
  StalenessSpec staleness;
  int label = 0;  ///< workloads that are timed together and have one label take equally long; 0: nothing is said

  /// Samples of an iteration, over all GPUs.
  double samples() const;
  /// A GPU without a machine around it, which needs no simulation.
  bool is_one_gpu() const {
    return kind == Kind::iteration && gpus == 1 && scenario.cluster.host.memory_bandwidth_bytes_per_s == 0;
  }
};

/// A job while its scenario is made: the entries of the catalogue that its names stand for, and the inputs so far.
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
  const IntraNodeEntry* intra_node = nullptr;  ///< set by the last cluster_of(), like `network`
  const NetworkEntry* network = nullptr;       ///< nullptr: one node
  double node_line_bytes_per_s = 0;            ///< of all its ports by their standard; 0: one node

  void assume(const std::string& key, const Json& value, const std::string& source) {
    inputs.assume(key, value, source);
  }
  void assume_default(const std::string& key, const Json& value, const std::string& reason) {
    inputs.assume_default(key, value, reason);
  }
  /// Lists the job's assumption about `key`, if it has one, under `name`. Returns whether it has one.
  bool list_assumed(const std::string& name, const Json& value, const std::string& key);
  /// Lists the catalogue's figures of an entry.
  void note(const std::string& key, const std::vector<Assumption>& facts);
  /// The product of the fitted constants of these names, the most specific name first, and the prior (priors.hpp) of the
  /// last. Lists them.
  double constant(const std::vector<std::string>& names);
};

/// Looks up the job's entries, as far as they are needed. Throws Unmapped for a name that the catalogue lacks.
void find_software(StackModel& m);
void find_gpu(StackModel& m, bool is_needed);
void find_model(StackModel& m);
/// Sets precision and wire; call it after the three above.
void find_formats(StackModel& m);

Precision precision_of(StackModel& m);
Wire wire_of(const StackModel& m);
/// One GPU alone copies its gradients to a server in host memory and waits for them.
bool copies_to_server(const StackModel& m);
CommunicationSpec communication_of(StackModel& m, const ClusterSpec& cluster);
/// Replaces the all-reduce by rings.
void set_rings(CommunicationSpec& communication);
/// Adds the job's all-reduce to the workload.
Workload with_all_reduce(StackModel& m, Workload workload);
/// Adds the job's way to exchange to an iteration: servers, sufficient factors, learners, or all-reduces.
Workload with_schedule(StackModel& m, Workload workload);

/// Whether the job's replicas are groups of GPUs, or share their state.
bool is_split(const Job& job);

inline constexpr const char* kWhyDefaultBatch =
    "at least 4,194,304 tokens (Llama 2) and 1,024 tokens per GPU (Llama 3.1 405B), a power of two times the odd part "
    "of "
    "the number of GPUs; --global-batch sets it";
/// Default global batch in sequences, for a job whose split is searched: the smallest power of two times the odd part of
/// `gpus` that reaches both minimums. With long sequences it can be smaller than `gpus`, unless the software `splits` no
/// replica: then every GPU needs a sequence of its own.
std::int64_t default_global_batch(int sequence_tokens, int gpus, const SplitAbilities& splits);
int micro_batch_of(StackModel& m);
/// Which activations are recomputed: as given, in the words of its software, or as that software does it.
Recomputation recomputation_of(const StackModel& m);
/// What is to be searched of a job's split: in the scenario of a searched one, all that the job does not give and its
/// software can do.
SplitQuestion split_question(const StackModel& m, const Scenario& scenario);
/// Adds the job's split to an iteration.
/// Throws NotSplittable for a model that no split is known of.
void check_splittable(const model::Graph& graph);
Workload with_split(StackModel& m, Workload workload);

/// The cluster of `gpus` GPUs.
ClusterSpec cluster_of(StackModel& m, int gpus);
/// Computation: efficiencies, launches, jitter, and the rates measured on `gpus` GPUs or one.
ComputeSpec compute_of(StackModel& m, int gpus, int batch);
int batch_of(StackModel& m);
/// Micro-steps per update: as given, else global batch / (GPUs x batch per GPU) if that is a whole number, else 1.
int accumulation_of(const StackModel& m, int gpus, int batch);
/// Inputs that set_sequence_kernels() lists, by these names.
constexpr const char* kKernelLaws = "laws of single kernels";
constexpr const char* kFusedAttention = "what fused attention reaches, over its law";
constexpr const char* kUnalignedProducts = "products of a vocabulary that is not padded, over others";
constexpr const char* kGeluBytes = "bytes of the GELU per element";
constexpr const char* kSoftmaxBytes = "bytes of a score in its softmax";
constexpr const char* kRmsNormBytes = "bytes of RMS norms per element";
constexpr const char* kRotaryBytes = "bytes of rotary positions per element";
constexpr const char* kLossBytes = "bytes of the loss per score";
constexpr const char* kSumBytes = "bytes of an element of sums and norms";
/// Images/s that a node's processors read, decode and augment.
constexpr const char* kDecodedImages = "images decoded";
/// Whether attention keeps its scores on the chip: as given, or as the software does if it has kernels for the GPU. Throws
/// InputError where it is given and there are none.
bool has_fused_attention(const StackModel& m);
/// Whether the model has layers of experts.
bool has_experts(StackModel& m);
/// Sets what transformers' kernels cost in `compute`, by software and GPU; `m.precision` is known.
void set_sequence_kernels(StackModel& m, ComputeSpec& compute);
/// The job's model, with the attention that its software has.
const model::Graph& graph_of(StackModel& m);
int gpus_of(const StackModel& m);

/// The workload of an iteration, or of all-reduces.
Workload iteration_workload(StackModel& m, int gpus, int batch);
Workload all_reduce_workload(StackModel& m, int gpus, const std::vector<std::int64_t>& bytes);

/// Peak memory of the GPU that needs most, as that counter reports it.
double peak_memory_bytes(const Workload& workload, MemoryCounter counter);
/// For a transformer without a split: if the optimizer's state does not fit on a GPU, lists that it is assumed to be sharded
/// (ZeRO-1 exchanges as much as an all-reduce). Throws Unmapped if weights and gradients alone do not fit.
void check_whole_replica(StackModel& m, const Scenario& scenario);

}  // namespace lockstep::sim::stack
