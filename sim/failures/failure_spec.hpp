#pragma once
// The object `failures` of a plan: the rate of interruptions of a training, their cost, and the measures against them.
// Missing values have defaults with kind and source.
#include <optional>
#include <string>

#include "engine/base/object_format.hpp"
#include "sim/failures/availability.hpp"
#include "sim/failures/goodput.hpp"

namespace lockstep::sim::failures {

struct FailureSpec {
  double per_node_day = 0;                      ///< interruptions of the whole job, per node of up to 8 GPUs and day
  double restart_s = 0;                         ///< from the interruption to useful work, except loading
  double repair_s = 0;                          ///< until a repaired node replaces the failed one
  int spares = 0;                               ///< standby nodes, which are billed
  double checkpoint_bandwidth_bytes_per_s = 0;  ///< from a node of up to 8 GPUs to the storage
  std::optional<double> storage_bandwidth_bytes_per_s;  ///< of the storage, over all nodes; none: it is never the limit
  std::optional<double> checkpoint_interval_s;          ///< none: the best interval
  std::optional<Availability> availability;             ///< of spot nodes; none: nodes are always available
  double calendar_factor = 1;                           ///< on the time of the iterations
  /// The 80 % interval of the calendar time, divided by the prediction, is at least this wide; none: as for iterations.
  std::optional<double> calendar_low, calendar_high;
};

/// The facts of a job on which its losses by failures depend.
struct FailingJob {
  int nodes = 1;
  int gpus_per_node = 8;   ///< GPUs that the job uses; above 8 the node fails and writes like gpus_per_node / 8 nodes
  double state_bytes = 0;  ///< weights and optimizer state; counted once for any number of GPUs
  double iteration_s = 0;  ///< checkpoints follow iterations, so the interval is at least one iteration
};

const ObjectFormat<FailureSpec>& failures_format();
/// Parses the storage bandwidth for writing and reading. "200 GB/s" is that of all nodes together, "5 GB/s per node"
/// that of one node. The message of its InputError begins with `option`.
Json parse_storage_bandwidth(const std::string& option, const std::string& written);
/// Returns the JSON Schema of the object.
Json failures_schema();

/// Returns the failures of hardware, with the best checkpoint interval for these and losses of spot nodes together.
FailureProcess process_of(const FailureSpec& spec, const FailingJob& job);

/// The total time and the interruptions of a training that computes for `useful_s` seconds.
struct FailingTraining {
  double wall_s = 0;      ///< infinite: the trace never has the nodes, or never for long enough
  double shortest_s = 0;  ///< least over starts in the trace; without a trace equal to wall_s
  double longest_s = 0;
  double held_s = 0;              ///< part of wall_s with all nodes, which is billed
  double interruptions = 0;       ///< expected number, of both kinds
  double spot_interruptions = 0;  ///< expected number of losses of spot nodes
};
/// Predicts a training of `useful_s` seconds without interruptions on `nodes` nodes that fail.
FailingTraining predict_failing_training(const FailureSpec& spec, const FailureProcess& process, int nodes,
                                         double useful_s);
/// Returns why wall_s is infinite, in plain text.
std::string why_never(const Availability& trace, int nodes);

}  // namespace lockstep::sim::failures
