#pragma once
// A scenario: the training to predict, its cluster, and the inputs. JSON, schema "lockstep/scenario/1";
// sim/scenario/README.md describes every key. It is read once and checked once; later modules see no JSON.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/model/graph.hpp"
#include "sim/convergence/convergence_spec.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/scenario/cluster_spec.hpp"
#include "sim/scenario/exchange_spec.hpp"
#include "sim/scenario/kernels_spec.hpp"
#include "sim/scenario/learners_spec.hpp"
#include "sim/scenario/nccl_spec.hpp"
#include "sim/scenario/parallel_spec.hpp"
#include "sim/scenario/parameter_server_spec.hpp"
#include "sim/scenario/profile_spec.hpp"
#include "sim/scenario/workers_spec.hpp"

namespace lockstep::sim::convergence {
struct TrainingSetting;  // sim/convergence/profile.hpp
}

namespace lockstep::sim::scenario {

/// Images per GPU for GPU counts up to `up_to_gpus`.
struct BatchRule {
  int up_to_gpus = 1;
  int batch = 1;
};

/// A training rate of one GPU without communication. `model` is set if it was measured on another model than the
/// scenario's; then the ratio of measured to roofline time carries over.
struct RateSpec {
  int batch = 1;
  double samples_per_s = 0;
  std::string model;
};

struct EfficiencySpec {
  double flop = 1;
  double efficiency = 1;
};

struct ComputeSpec {
  Precision precision = Precision::fp32;
  std::vector<RateSpec> rates;  ///< ascending batch
  double time_factor = 1;       ///< on the passes that the laws predict; from a measured iteration
  double launch_s = 0;
  double host_launch_s = 0;  ///< of the processor, per kernel: layer_cost.hpp
  std::vector<EfficiencySpec> compute_efficiency;
  double attention_efficiency = 1;                                ///< layer_cost.hpp
  double expert_efficiency = 1;                                   ///< layer_cost.hpp
  KernelsSpec kernels;                                            ///< laws of single kernels
  double unaligned_2_efficiency = 1, unaligned_4_efficiency = 1;  ///< layer_cost.hpp
  double gelu_bytes = 0, rms_norm_bytes = 0, rotary_bytes = 0;    ///< layer_cost.hpp
  double loss_bytes_per_logit = 0;                                ///< layer_cost.hpp
  bool chunks_loss = false;  ///< scores and loss of some tokens at a time (split/activations.hpp)
  double memory_efficiency = 1;
  double fast_convolution_gain = 1;     ///< layer_cost.hpp
  int channel_tile = 1;                 ///< layer_cost.hpp
  double cast_bytes_per_parameter = 0;  ///< layer_cost.hpp
  bool recomputes_blocks = false;       ///< of a replica without "parallel" (engine/model/checkpoints.hpp)
  /// For each layer, the share of its forward pass that the backward pass recomputes; empty: none. Files have no key
  /// for it: without_split() sets it from "parallel".
  std::vector<double> repeated_shares{};
  double sum_bytes = 0;          ///< layer_cost.hpp
  double softmax_bytes = 0;      ///< layer_cost.hpp
  bool half_parameters = false;  ///< also weights, gradients and optimizer state, without copies in single
  Optimizer optimizer = Optimizer::momentum;
  model::KeptPrecisions kept{};  ///< of the optimizer
  JitterKind jitter = JitterKind::none;
  double jitter_variation = 0;  ///< standard deviation over mean, per GPU and iteration
  ProfileSpec profile;          ///< if given, its iterations set the time instead of rates
  /// Compute time during a collective over that without, if the scenario gives it; none: as measured by the profile.
  std::optional<double> overlap_slowdown;
  int busy_devices = 1;  ///< on a node, at the predicted point; selects the profile's curve

  /// Returns the bytes per element of weights, gradients and the optimizer's state in the update.
  int update_element_bytes() const { return half_parameters ? 2 : 4; }
};

struct InputSpec {
  double samples_per_s_per_node = 0;  ///< 0: never the bottleneck
  double bytes_per_sample = 0;        ///< copied to the GPU
  int prefetch = 2;
  LoadingSpec loading;
  bool is_on_links = false;  ///< copies, and reading from a file server, cross the cluster's links ("traffic")

  bool reads_over_links() const {
    return is_on_links && loading.nfs_bandwidth_bytes_per_s > 0 && loading.file_bytes_per_sample > 0;
  }
};

/// Buckets of PyTorch's DistributedDataParallel.
struct DdpSpec {
  std::int64_t bucket_cap_bytes = 25 << 20;
  std::int64_t first_bucket_bytes = 1 << 20;
};

struct CommunicationSpec {
  AllReduceKind all_reduce = AllReduceKind::ring;
  int group_size = 16;                      ///< hierarchical, hybrid
  int chain_slices = 0;                     ///< for reduce and broadcast in a group; 0: one per member of the group
  std::int64_t hybrid_threshold_bytes = 0;  ///< hybrid: larger buckets use a ring
  int torus_columns = 0;                    ///< torus; 0: GPUs per node
  int tree_slices = 16;                     ///< double-binary-tree
  Wire wire = Wire::fp32;
  std::int64_t fusion_threshold_bytes = 0;  ///< 0: every tensor alone
  bool fuses_as_ddp = false;                ///< buckets follow PyTorch's DDP, not the threshold
  DdpSpec ddp;
  int accumulation = 1;  ///< micro-steps per exchange
  bool overlap = true;
  double message_overhead_s = 0;  ///< software cost of every message, added to the route's latency
  double launch_overhead_s = 0;   ///< of every all-reduce
  NcclSpec nccl;                  ///< nccl
  /// profile, profile-average: where they were measured; null: in the profile of compute (measured_all_reduce.hpp).
  std::shared_ptr<const calib::Profile> profile;
  std::string library;                    ///< whose all-reduces of the profile are used; empty: it has those of one
  double reduction_rate_bytes_per_s = 0;  ///< of adding data in the wire's type; 0: hidden behind the transfer
  double bucket_copy_bytes_per_s = 0;     ///< of a gradient into its bucket and back; 0: no copies

  /// Gradients are collected until their bytes on the wire reach it; 0: every tensor is sent alone.
  std::int64_t bucket_bytes() const { return fuses_as_ddp ? ddp.bucket_cap_bytes : fusion_threshold_bytes; }
  /// Returns the bytes on the wire that fill the first bucket; -1: as for the other buckets.
  std::int64_t first_bucket_bytes() const { return fuses_as_ddp ? ddp.first_bucket_bytes : -1; }
};

/// A published result that is printed next to the prediction.
struct PublishedSpec {
  int gpus = 0;
  PublishedMetric metric = PublishedMetric::samples_per_s;
  double value = 0;  ///< SI
  std::string over;  ///< throughput_gain: the variant to compare with
  std::string source;
  bool is_fitted = false;  ///< a constant of the scenario was fitted on it
};

/// The error that published results of one class showed. The ends of the 80 % interval of log(value) are `below` and
/// `above` times sqrt(always^2 + inputs^2) away. `inputs` is the effect of the inputs' uncertainty on log(value). See
/// sim/point/calibration.hpp.
inline constexpr double kWidestBound = 3;  ///< of log(value): a factor of 20 says nothing
struct IntervalCalibration {
  double always = 0;          ///< of log(value), whatever the inputs' uncertainty
  double input = 0;           ///< of log(samples/s that the nodes decode), if an iteration waits for them
  bool counts_inputs = true;  ///< false: the inputs' uncertainty did not predict the errors of this class
  double below = 1, above = 1;
  double most_below = kWidestBound, most_above = kWidestBound;  ///< of log(value)
};
struct CalibrationSpec {
  IntervalCalibration samples_per_s, training;  ///< training: of the time to the target
};

/// Traffic between the CPUs of two nodes that shares links with the training, through the first working NIC of each.
struct BackgroundSpec {
  int from_node = 0, to_node = 0;
  double bytes_per_s = 0;
};

/// Relative uncertainty (one standard deviation) of the groups of inputs, from which intervals are computed.
struct UncertaintySpec {
  double compute = 0;
  double bandwidth = 0;
  double latency = 0;
  double epochs = 0;
  std::optional<CalibrationSpec> calibration{};  ///< none: intervals follow only from the inputs' uncertainty
};

struct [[nodiscard]] Scenario : ExchangeSpecs {
  std::string name;
  std::string variant;  ///< name of the variant; empty if the file lists none
  std::string description;
  ClusterSpec cluster;
  model::Graph model;
  Algorithm algorithm = Algorithm::s_sgd;
  std::vector<int> gpus;
  int baseline_gpus = 0;
  std::vector<BatchRule> batch;          ///< with a split: the micro-batch of a GPU
  std::optional<ParallelSpec> parallel;  ///< how a replica is split over GPUs; none: every GPU is a replica
  ComputeSpec compute;
  InputSpec input;
  CommunicationSpec communication;
  LearnersSpec learners;                                ///< of the algorithms "sma" and "ea-sgd"
  std::optional<ParameterServerSpec> parameter_server;  ///< of the algorithm "parameter-server"
  std::optional<WorkersSpec> workers;  ///< of the algorithms "backup-workers", "async-sgd" and "async-easgd"
  std::optional<ConvergenceSpec> convergence;
  std::vector<PublishedSpec> published;
  std::vector<BackgroundSpec> background;  ///< acts on jobs that are predicted together
  UncertaintySpec uncertainty;
  int iterations = 10;  ///< measured; one more is run before them
  std::uint64_t seed = 1;
  Fidelity fidelity = Fidelity::fast;
  bool ignores_memory = false;  ///< also predicts points that do not fit into a GPU's memory

  int batch_at(int gpu_count) const;
  /// Returns the split at `gpu_count` GPUs, with the number of replicas. Throws InputError if it does not fit these
  /// GPUs or there is no split.
  ParallelSpec parallel_at(int gpu_count) const;
  bool trains_learners() const { return algorithm == Algorithm::sma || algorithm == Algorithm::ea_sgd; }
};

/// Writes the file that reads as this scenario. It includes defaults, and the content of other files in place of their
/// names. If `sources` has an entry for the pointer of a value, the value carries its kind and source. Scenarios with
/// the same text have the same prediction, so caches use the text as their key.
Json to_json(const Scenario& scenario, const std::vector<Assumption>& sources = {});

/// Returns the settings that decide how many iterations the training takes on `gpus` GPUs. It assumes learners and
/// workers without noise, and asynchronous gradients that are as many updates old as there are other workers.
TrainingSetting training_setting(const Scenario& scenario, int gpus);

/// A scenario and what the result must tell about its inputs.
struct LoadedScenario {
  std::vector<Scenario> variants;  ///< or jobs; one without a name if the file lists none
  bool shares_cluster = false;     ///< the variants are jobs that run at the same time, or there is background traffic
  std::vector<std::string> notes;  ///< what cannot be predicted of single variants
  Json resolved;                   ///< as read, with references replaced by their content, and defaults filled in
  std::vector<Assumption> assumptions;
  std::map<std::string, std::string> inputs;  ///< file -> SHA-256
};

/// `settings` are --set pairs (pointer, text), `gpus` the --gpus list (empty: the scenario's). Throws InputError.
LoadedScenario load_scenario(const std::string& path, const std::vector<std::pair<std::string, std::string>>& settings,
                             const std::vector<int>& gpus = {});

}  // namespace lockstep::sim::scenario
