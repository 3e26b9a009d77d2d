#pragma once
// Results that only some algorithms have. `simulate --json` writes them as "details" of a point.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/collective/nccl_fit.hpp"

namespace lockstep::sim::point {

/// Operations of one size that a library (NCCL) carries out: its choice of algorithm, and the time by its model.
struct CollectiveCall {
  std::string choice;
  std::int64_t bytes = 0;
  double per_iteration = 0;
  double latency_s = 0;
  double seconds = 0;  ///< includes latency
  LOCKSTEP_FIELDS(choice, bytes, per_iteration, latency_s, seconds);
};

/// Corrections of NCCL's model fitted to operations measured over several nodes, and the fit's errors.
struct NcclFitResult {
  std::vector<int> nodes;  ///< of each measured curve
  NcclNetworkCorrection correction;
  NcclFitErrors errors;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("nodes", self.nodes);
    visit("calls", self.errors.calls);
    visit("latency_excess_s", self.correction.latency_excess_s);
    visit("pass_excess_s", self.correction.pass_excess_s);
    visit("bandwidth_factor", self.correction.bandwidth_factor);
    visit("median_residual", self.errors.median_residual);
    visit("worst_residual", self.errors.worst_residual);
    visit("leave_one_out", self.errors.leave_one_out);
    visit("worst_left_out", self.errors.worst_left_out);
    visit("most_nodes_left_out", self.errors.most_nodes_left_out);
  }
};

/// The scheme by which a fully-connected layer is exchanged, and the numbers (Poseidon, table 1) that each would send.
struct LayerScheme {
  std::string layer;
  std::int64_t inputs = 0, outputs = 0;
  std::string scheme;
  double server_numbers = 0, factor_numbers = 0, adam_numbers = 0;
  LOCKSTEP_FIELDS(layer, inputs, outputs, scheme, server_numbers, factor_numbers, adam_numbers);
};

/// Bytes that a GPU sends and receives in an iteration.
struct GpuTraffic {
  std::int64_t bytes_sent = 0, bytes_received = 0;
  LOCKSTEP_FIELDS(bytes_sent, bytes_received);
};

/// A parameter server's exchange.
struct ServerDetails {
  int servers = 0;
  std::vector<LayerScheme> schemes;
  GpuTraffic busiest_gpu;
  LOCKSTEP_FIELDS(servers, schemes, busiest_gpu);
};

/// Seconds of the operations that synchronise learners. If the host synchronises, they are `differences`; otherwise
/// `local` and `aggregate`.
struct SynchronisationTimes {
  double all_reduce = 0;
  double average_model = 0;
  std::optional<double> differences, local, aggregate;
  LOCKSTEP_FIELDS(all_reduce, average_model, differences, local, aggregate);
};

struct LearnerMemoryDetails {
  double bytes_per_learner = 0, bytes_shared = 0;
  int most_learners = 0;  ///< that fit into a GPU's memory
  LOCKSTEP_FIELDS(bytes_per_learner, bytes_shared, most_learners);
};

/// Throughput that the auto-tuner observed with a number of learners per GPU.
struct TunerObservation {
  int learners = 0;
  double samples_per_s = 0;  ///< 0: the tuner ended with this number without observing it
  LOCKSTEP_FIELDS(learners, samples_per_s);
};

struct LearnersDetails {
  int learners_per_gpu = 0;
  double fill = 0;                 ///< fraction of a GPU that one learner can use
  double samples_per_s_bound = 0;  ///< upper bound: GPUs that only learn
  double learning_s = 0;           ///< of one learner that runs alone
  SynchronisationTimes synchronisation_s;
  double input_stall_s = 0;
  LearnerMemoryDetails memory;
  std::optional<std::vector<TunerObservation>> auto_tuner;
  LOCKSTEP_FIELDS(learners_per_gpu, fill, samples_per_s_bound, learning_s, synchronisation_s, input_stall_s, memory,
                  auto_tuner);
};

/// Seconds from the publication of the parameters to the k-th gradient computed from them.
struct GradientArrival {
  int k = 0;
  double mean = 0, median = 0;
  LOCKSTEP_FIELDS(k, mean, median);
};

struct SampleSummary {
  double min = 0, mean = 0, median = 0, max = 0, sd = 0;
  std::size_t count = 0;
  LOCKSTEP_FIELDS(min, mean, median, max, sd, count);
};

/// Updates between a shard's read and its own update, over all updates of the measured iterations.
struct ShardStaleness {
  SampleSummary summary;
  std::vector<std::pair<double, int>> histogram;  ///< staleness and number of updates, ascending
  std::string shard;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    SampleSummary::visit_fields(self.summary, visit);
    visit("histogram", self.histogram);
    visit("shard", self.shard);
  }
};

/// The distribution of delays that was fitted to given percentiles.
struct DelayFit {
  double median = 0, sigma = 0, tail_probability = 0, tail_index = 0;
  double rms_log_residual = 0;
  LOCKSTEP_FIELDS(median, sigma, tail_probability, tail_index, rms_log_residual);
};

/// Describes backup workers (gradients, backups, arrivals), asynchronous SGD (staleness), or asynchronous EASGD (alpha,
/// tau).
struct WorkersDetails {
  std::optional<double> aggregated_gradients;  ///< mean number of gradients in an update
  std::optional<int> backups;
  int servers = 0;
  std::optional<double> dropped_share;  ///< of all gradients
  double idle_share = 0;                ///< share of an iteration in which GPUs do not compute
  std::optional<std::vector<GradientArrival>> arrivals_s;
  std::optional<std::vector<ShardStaleness>> staleness;
  std::optional<double> alpha;
  std::optional<int> tau;
  std::optional<SampleSummary> exchange_s;
  std::optional<DelayFit> delay;
  LOCKSTEP_FIELDS(aggregated_gradients, backups, servers, dropped_share, idle_share, arrivals_s, staleness, alpha, tau,
                  exchange_s, delay);
};

/// A replica split over several GPUs: seconds of an iteration by cause, of the slowest stage.
struct SplitDetails {
  int replicas = 0, gpus_of_replica = 0, micro_batches = 0;
  double forward_s = 0, backward_s = 0;  ///< of a micro-batch
  double pipeline_s = 0, bubble_fraction = 0, stage_message_s = 0;
  double tensor_s = 0, context_s = 0, expert_s = 0, sharding_s = 0;
  double exposed_exchange_s = 0, update_s = 0;
  double recomputed_share = 0;
  LOCKSTEP_FIELDS(replicas, gpus_of_replica, micro_batches, forward_s, backward_s, pipeline_s, bubble_fraction,
                  stage_message_s, tensor_s, context_s, expert_s, sharding_s, exposed_exchange_s, update_s,
                  recomputed_share);
};

struct PointDetails {
  std::optional<double> compute_slowed_by_collectives_s;
  std::vector<CollectiveCall> calls;
  std::optional<NcclFitResult> nccl_fit;
  std::optional<ServerDetails> parameter_server;
  std::optional<LearnersDetails> learners;
  std::optional<WorkersDetails> workers;
  std::optional<SplitDetails> split;
  LOCKSTEP_FIELDS(compute_slowed_by_collectives_s, calls, nccl_fit, parameter_server, learners, workers, split);
};

/// Writes the "details" of the result file. Keys of parameter servers, learners and workers are at its top level.
Json details_json(const PointDetails& details);

}  // namespace lockstep::sim::point
