#pragma once
// Results that only some algorithms have, beside a point's times: "details" of a point in `simulate --json`.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/collective/nccl_fit.hpp"

namespace lockstep::sim {
inline namespace point {

/// Operations of one size that a library (NCCL) carries out: its choice of algorithm, and the time by its model.
struct CollectiveCall {
  std::string choice;
  std::int64_t bytes = 0;
  double per_iteration = 0;
  double latency_s = 0;
  double seconds = 0;  ///< latency included
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("choice", self.choice);
    visit("bytes", self.bytes);
    visit("per_iteration", self.per_iteration);
    visit("latency_s", self.latency_s);
    visit("seconds", self.seconds);
  }
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
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("layer", self.layer);
    visit("inputs", self.inputs);
    visit("outputs", self.outputs);
    visit("scheme", self.scheme);
    visit("server_numbers", self.server_numbers);
    visit("factor_numbers", self.factor_numbers);
    visit("adam_numbers", self.adam_numbers);
  }
};

/// Bytes that a GPU sends and receives in an iteration.
struct GpuTraffic {
  std::int64_t sent = 0, received = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("bytes_sent", self.sent);
    visit("bytes_received", self.received);
  }
};

/// A parameter server's exchange.
struct ServerDetails {
  int servers = 0;
  std::vector<LayerScheme> schemes;
  GpuTraffic busiest_gpu;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("servers", self.servers);
    visit("schemes", self.schemes);
    visit("busiest_gpu", self.busiest_gpu);
  }
};

/// Seconds of the operations that synchronise learners. Synchronised by the host, they compute `differences`;
/// otherwise `local` and `aggregate`.
struct SynchronisationTimes {
  double all_reduce = 0;
  double average_model = 0;
  std::optional<double> differences, local, aggregate;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("all_reduce", self.all_reduce);
    visit("average_model", self.average_model);
    visit("differences", self.differences);
    visit("local", self.local);
    visit("aggregate", self.aggregate);
  }
};

struct LearnerMemoryDetails {
  double bytes_per_learner = 0, bytes_shared = 0;
  int most_learners = 0;  ///< that fit into a GPU's memory
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("bytes_per_learner", self.bytes_per_learner);
    visit("bytes_shared", self.bytes_shared);
    visit("most_learners", self.most_learners);
  }
};

/// Throughput that the auto-tuner observed with a number of learners per GPU.
struct TunerObservation {
  int learners = 0;
  double samples_per_s = 0;  ///< 0: the tuner ended at this number without observing it
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("learners", self.learners);
    visit("samples_per_s", self.samples_per_s);
  }
};

struct LearnersDetails {
  int learners_per_gpu = 0;
  double fill = 0;                 ///< fraction of a GPU that one learner can use
  double samples_per_s_bound = 0;  ///< if GPUs did nothing but learning
  double learning_s = 0;           ///< of one learner alone
  SynchronisationTimes synchronisation_s;
  double input_stall_s = 0;
  LearnerMemoryDetails memory;
  std::optional<std::vector<TunerObservation>> auto_tuner;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("learners_per_gpu", self.learners_per_gpu);
    visit("fill", self.fill);
    visit("samples_per_s_bound", self.samples_per_s_bound);
    visit("learning_s", self.learning_s);
    visit("synchronisation_s", self.synchronisation_s);
    visit("input_stall_s", self.input_stall_s);
    visit("memory", self.memory);
    visit("auto_tuner", self.auto_tuner);
  }
};

/// Seconds from the publication of the parameters to the k-th gradient computed from them.
struct GradientArrival {
  int k = 0;
  double mean = 0, median = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("k", self.k);
    visit("mean", self.mean);
    visit("median", self.median);
  }
};

struct SampleSummary {
  double min = 0, mean = 0, median = 0, max = 0, sd = 0;
  std::size_t count = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("min", self.min);
    visit("mean", self.mean);
    visit("median", self.median);
    visit("max", self.max);
    visit("sd", self.sd);
    visit("count", self.count);
  }
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
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("median", self.median);
    visit("sigma", self.sigma);
    visit("tail_probability", self.tail_probability);
    visit("tail_index", self.tail_index);
    visit("rms_log_residual", self.rms_log_residual);
  }
};

/// Backup workers (gradients, backups, arrivals), asynchronous SGD (staleness), asynchronous EASGD (alpha, tau).
struct WorkersDetails {
  std::optional<double> aggregated_gradients;  ///< mean number of gradients in an update
  std::optional<int> backups;
  int servers = 0;
  std::optional<double> dropped_share;  ///< of all gradients
  double idle_share = 0;                ///< of an iteration, for which GPUs do not compute
  std::optional<std::vector<GradientArrival>> arrivals_s;
  std::optional<std::vector<ShardStaleness>> staleness;
  std::optional<double> alpha;
  std::optional<int> tau;
  std::optional<SampleSummary> exchange_s;
  std::optional<DelayFit> delay;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("aggregated_gradients", self.aggregated_gradients);
    visit("backups", self.backups);
    visit("servers", self.servers);
    visit("dropped_share", self.dropped_share);
    visit("idle_share", self.idle_share);
    visit("arrivals_s", self.arrivals_s);
    visit("staleness", self.staleness);
    visit("alpha", self.alpha);
    visit("tau", self.tau);
    visit("exchange_s", self.exchange_s);
    visit("delay", self.delay);
  }
};

/// A replica split over several GPUs: seconds of an iteration by cause, of the slowest stage.
struct SplitDetails {
  int replicas = 0, gpus_of_replica = 0, micro_batches = 0;
  double forward_s = 0, backward_s = 0;  ///< of a micro-batch
  double pipeline_s = 0, bubble_fraction = 0, stage_message_s = 0;
  double tensor_s = 0, context_s = 0, expert_s = 0, sharding_s = 0;
  double exposed_exchange_s = 0, update_s = 0;
  double recomputed_share = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("replicas", self.replicas);
    visit("gpus_of_replica", self.gpus_of_replica);
    visit("micro_batches", self.micro_batches);
    visit("forward_s", self.forward_s);
    visit("backward_s", self.backward_s);
    visit("pipeline_s", self.pipeline_s);
    visit("bubble_fraction", self.bubble_fraction);
    visit("stage_message_s", self.stage_message_s);
    visit("tensor_s", self.tensor_s);
    visit("context_s", self.context_s);
    visit("expert_s", self.expert_s);
    visit("sharding_s", self.sharding_s);
    visit("exposed_exchange_s", self.exposed_exchange_s);
    visit("update_s", self.update_s);
    visit("recomputed_share", self.recomputed_share);
  }
};

struct PointDetails {
  std::optional<double> compute_slowed_by_collectives_s;
  std::vector<CollectiveCall> calls;
  std::optional<NcclFitResult> nccl_fit;
  std::optional<ServerDetails> parameter_server;
  std::optional<LearnersDetails> learners;
  std::optional<WorkersDetails> workers;
  std::optional<SplitDetails> split;
  template <class Self, class Visit>
  static void visit_fields(Self& self, const Visit& visit) {
    visit("compute_slowed_by_collectives_s", self.compute_slowed_by_collectives_s);
    visit("calls", self.calls);
    visit("nccl_fit", self.nccl_fit);
    visit("parameter_server", self.parameter_server);
    visit("learners", self.learners);
    visit("workers", self.workers);
    visit("split", self.split);
  }
};

/// "details" of the result file. The keys of parameter servers, learners and workers stand in it directly.
Json details_json(const PointDetails& details);

}  // namespace point
}  // namespace lockstep::sim
