#pragma once
// One prediction: a scenario at one GPU count, from costs and cluster to numbers.
#include <optional>
#include <string>
#include <vector>

#include "sim/point/details.hpp"
#include "sim/point/interval.hpp"
#include "sim/point/method.hpp"
#include "sim/program/jitter.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::point {

class PointCache;

/// GPUs whose timelines are recorded (none: no trace), and the receiver of their events (trace.hpp) in the predicting
/// process.
struct TraceRequest {
  std::vector<int> gpus;
  TraceSink sink;
  std::optional<double>
      links_at_s{};  ///< records the links and messages at that time; the point is then replayed as flows
};

struct PointRequest {
  int gpus = 1;
  int batch_per_gpu = 1;
  Fidelity fidelity = Fidelity::fast;
  std::uint64_t seed = 1;
  int iterations = 10;
  TraceRequest trace;
  bool has_input_spread =
      false;  ///< bounds are one standard deviation of the inputs, for a caller that calibrates them
  JitterCache* jitter = nullptr;  ///< draws that points share; must outlive the prediction
  PointCache* cache = nullptr;    ///< of the latest cluster; must outlive the prediction
  double most_messages = 0;       ///< fast: a point with more in all its iterations uses the closed form; 0: no limit
};

/// Makes a request with the scenario's fidelity, seed and iterations.
PointRequest request_for(const Scenario& scenario, int gpus, int batch_per_gpu);

/// True if the job uses more than data parallelism: tensor, pipeline, context or expert ranks, sharding, adapters, or
/// an optimizer in host memory.
bool is_split(const Scenario& scenario);
/// The GPUs that a timeline shows: the first 16 and the last. For a split job, the first GPU of each pipeline stage.
std::vector<int> traced_gpus(const Scenario& scenario, int gpus);

/// One prediction. Processes exchange it as JSON of the listed fields.
struct [[nodiscard]] PointResult {
  int gpus = 0;
  int nodes = 0;
  int batch_per_gpu = 0;
  double samples_per_iteration = 0;  ///< the global batch
  std::vector<double> iteration_s;   ///< of every measured iteration
  double compute_s = 0;              ///< busy compute time of a GPU in an iteration, mean
  double exposed_communication_s = 0;
  double input_wait_s = 0;
  RelativeInterval interval;           ///< 80 % interval of the iteration time
  RelativeInterval training_interval;  ///< of the time to the target, if the number of iterations is exact
  double bytes_sent_per_gpu = 0;
  double messages = 0;
  Fidelity fidelity = Fidelity::analytic;  ///< requested
  PredictionMethod method;
  double wall_s = 0;
  std::int64_t events = 0;
  PointDetails details;
  std::vector<std::string> notes;  ///< lines for the user, printed below the table

  LOCKSTEP_FIELDS(gpus, nodes, batch_per_gpu, samples_per_iteration, iteration_s, compute_s, exposed_communication_s,
                  input_wait_s, interval, training_interval, bytes_sent_per_gpu, messages, fidelity, method, wall_s,
                  events, details, notes);

  double mean_iteration_s() const;
  double samples_per_s() const { return samples_per_iteration / mean_iteration_s(); }
};

/// The setting that determines the number of iterations to a target: training_setting(), with the simulated number of
/// gradients or learners.
TrainingSetting setting_of(const Scenario& scenario, const PointResult& point);

/// Predicts in this process. With fidelity `message`, the process must not have run a simulation before, because
/// SimGrid's engine runs once per process. Other fidelities predict any number of points one after the other.
PointResult predict_point(const Scenario& scenario, const PointRequest& request);

struct PointJob {
  const Scenario* scenario;
  PointRequest request;
};

/// Predicts every job in a process of its own, up to `jobs` at a time. The processes run in parallel, and SimGrid
/// allows only one simulation per process. Results are in the order given. jobs = 0 predicts one job after the other in
/// this process; it is for fidelities other than `message`. Throws std::runtime_error with the first failure's message.
std::vector<PointResult> predict_points(const std::vector<PointJob>& points, int jobs);

/// Applies the scenario's software overheads of messages to the cluster.
void apply_overheads(const Scenario& scenario, Cluster& cluster);

}  // namespace lockstep::sim::point
