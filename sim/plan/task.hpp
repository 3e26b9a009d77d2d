#pragma once
// The task of a worker process, and its outcome. Journals have the key and the outcome in one line of JSON.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json_fields.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim::plan {

/// One simulation of a plan's point.
struct Task {
  std::size_t point = 0;                   ///< index in PlanSpec::points
  Fidelity fidelity = Fidelity::analytic;  ///< requested
  std::string variation = "";              ///< a name of variation.hpp; empty: none
  int gpus = 0;                            ///< replaces the point's; 0: the point's
  int batch_per_gpu = 0;                   ///< replaces the point's; 0: the point's
  int baseline_gpus = 0;  ///< above 0: predicts the point's baseline (sim/point/baseline.hpp) on this number of GPUs
  int learners = 0;       ///< replaces the baseline's, if the auto-tuner chose the point's; 0: the baseline's
  bool wants_layers = false;
  bool wants_failure_runs = false;  ///< also simulates failures on SimGrid's clock, in a process of its own
  bool is_throughput_only = false;  ///< does not check whether the global batch reaches the target

  /// Returns a text that identifies the task within its plan.
  std::string key() const;
  /// Returns the fields as field_bytes.hpp writes them, for processes of this run.
  std::string bytes() const;
  static Task from_bytes(std::string_view bytes);
  LOCKSTEP_FIELDS(point, fidelity, variation, gpus, batch_per_gpu, baseline_gpus, learners, wants_layers,
                  wants_failure_runs, is_throughput_only);
};

struct LayerGroup {
  std::string name;
  double forward_s = 0;
  double backward_s = 0;
  double update_s = 0;
  double gradient_bytes = 0;
  int layers = 0;  ///< number of layers with time or parameters
  LOCKSTEP_FIELDS(name, forward_s, backward_s, update_s, gradient_bytes, layers);
};

/// A whole training with its failures, which is run many times on SimGrid's clock.
struct ClockedTime {
  int runs = 0;  ///< 0: the plan does not request runs
  double mean_s = 0;
  double low_s = 0, high_s = 0;  ///< 10th and 90th percentile
  LOCKSTEP_FIELDS(runs, mean_s, low_s, high_s);
};

struct [[nodiscard]] Outcome {
  std::string status;  ///< "ok"; "refused": the point is impossible or exceeds a limit; "failed": its simulation threw
  std::string why;
  Fidelity fidelity = Fidelity::analytic;  ///< the method used, which may differ from the requested one
  std::string method;
  std::string gpu;      ///< name
  std::string cluster;  ///< name
  int gpus = 0;
  int nodes = 0;
  int gpus_per_node = 0;
  int nics = 0;  ///< on all nodes
  int batch_per_gpu = 0;
  int baseline_gpus = 0;
  int tuned_learners = 0;  ///< per GPU, if the auto-tuner chose them; else 0
  std::string split;       ///< if it was searched
  double global_batch = 0;
  double sequence_tokens = 0;  ///< tokens of a sample; 0: samples are not sequences
  double mfu = 0;              ///< model FLOP/s over the GPU's peak; 0: unknown
  double iteration_s = 0;
  double relative_low = 1;
  double relative_high = 1;
  double spread_compute = 0;  ///< InputSpread of sim/point/point.hpp
  double spread_bandwidth = 0;
  double spread_latency = 0;
  std::string links;  ///< identifies the links between nodes; points with equal texts share their uncertainty
  double compute_s = 0;
  double exposed_communication_s = 0;
  std::optional<double> bubble_s;   ///< of a split with a pipeline: part of exposed_communication_s
  double idle_s = 0;                ///< waiting for input
  std::optional<GpuMemory> memory;  ///< of a GPU; none if the scenario could not be read
  double updates = 0;               ///< iterations of the whole training
  double time_s = 0;
  double time_s_low = 0;
  double time_s_high = 0;
  double undisturbed_s = 0;  ///< of the whole training without failures and checkpoints; 0 if the plan has no failures
  double goodput = 1;        ///< useful time over time_s
  double paid_share = 1;     ///< share of time_s that is billed: all but waiting for spot nodes
  double interruptions = 0;  ///< expected number
  double spot_interruptions = 0;  ///< those caused by the loss of spot nodes
  double checkpoint_s = 0;
  double checkpoint_interval_s = 0;
  int spares = 0;  ///< standby nodes
  std::vector<std::string> warnings;
  std::vector<LayerGroup> layer_groups;  ///< only if requested
  ClockedTime clocked;                   ///< only if requested

  bool is_ok() const { return status == "ok"; }
  /// Returns a text that names a machine by its GPU, servers and network.
  std::string machine() const { return gpu + "\n" + cluster + "\n" + links; }
  /// Returns the time in which the job has its nodes.
  double paid_s() const { return time_s * paid_share; }
  double samples_per_s() const { return global_batch / iteration_s; }
  double samples_per_s_low() const { return samples_per_s() / relative_high; }
  double samples_per_s_high() const { return samples_per_s() / relative_low; }
  /// Returns 0 if samples are not sequences.
  double tokens_per_s() const { return samples_per_s() * sequence_tokens; }
  std::string text() const;
  /// Throws std::exception if the text was not written by text().
  static Outcome from_text(const std::string& text);
  /// Returns the fields as field_bytes.hpp writes them, for processes of this run.
  std::string bytes() const;
  static Outcome from_bytes(std::string_view bytes);

  LOCKSTEP_FIELDS(status, why, fidelity, method, gpu, cluster, gpus, nodes, gpus_per_node, nics, batch_per_gpu,
                  baseline_gpus, tuned_learners, split, global_batch, sequence_tokens, mfu, iteration_s, relative_low,
                  relative_high, spread_compute, spread_bandwidth, spread_latency, links, compute_s,
                  exposed_communication_s, bubble_s, idle_s, memory, updates, time_s, time_s_low, time_s_high,
                  undisturbed_s, goodput, paid_share, interruptions, spot_interruptions, checkpoint_s,
                  checkpoint_interval_s, spares, layer_groups, clocked, warnings);
};

}  // namespace lockstep::sim::plan
