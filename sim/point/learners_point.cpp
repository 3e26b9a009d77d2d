#include "sim/point/learners_point.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/json_fields.hpp"
#include "engine/base/process_pool.hpp"
#include "engine/sync/auto_tuner.hpp"
#include "sim/program/jitter.hpp"
#include "sim/program/learners.hpp"
#include "sim/program/programs.hpp"

namespace lockstep::sim::point {
namespace {

constexpr int kMostObservations = 100;

}  // namespace

std::vector<TunerObservation> tune_learners(const Scenario& scenario, int gpus, int batch, std::uint64_t seed,
                                            Fidelity fidelity, const Cluster& cluster) {
  sync::TunerOptions options;
  options.threshold = scenario.learners.auto_tune->threshold;
  options.most_learners = most_learners(scenario, batch);
  const int cycle = std::max(1, scenario.learners.tau);
  const int window = (scenario.learners.auto_tune->window + cycle - 1) / cycle * cycle;
  const Jitter drawn = jitter_of(scenario, seed);

  Scenario running = scenario;
  sync::TunerState state;
  std::vector<TunerObservation> observed;
  for (int unchanged = 0; unchanged < 2 && static_cast<int>(observed.size()) < kMostObservations;) {
    running.learners.per_gpu = state.learners;
    const Program program = build_program(running, gpus, batch, cycle + window);
    const int first_draw = static_cast<int>(observed.size()) * (cycle + window) * (options.most_learners + 1);
    const Jitter jitter = [&](int gpu, int iteration) { return drawn(gpu, first_draw + iteration); };
    const Replay replay = fidelity == Fidelity::message ? replay_messages(program, cluster, jitter)
                                                        : replay_flows(program, cluster, jitter);
    const std::vector<double>& ends = replay.iteration_end_s;
    const double seconds = ends.back() - ends[static_cast<std::size_t>(cycle - 1)];
    observed.push_back({state.learners, double(window) * gpus * state.learners * batch / seconds});
    state = sync::tune(options, state, observed.back().samples_per_s);
    unchanged = state.change == 0 ? unchanged + 1 : 0;
  }
  if (observed.back().learners != state.learners) observed.push_back({state.learners, 0});
  return observed;
}

Scenario with_tuned_learners(Scenario scenario, const PointRequest& request, std::vector<TunerObservation>& observed) {
  if (!scenario.learners.auto_tune) return scenario;
  const auto observe = [&] {
    Cluster cluster(scenario.cluster, request.gpus, input_hosts_of(scenario));
    apply_overheads(scenario, cluster);
    return tune_learners(scenario, request.gpus, request.batch_per_gpu, request.seed, request.fidelity, cluster);
  };
  if (request.fidelity == Fidelity::message) {  // SimGrid runs only once per process
    const std::string answer =
        in_processes(1, 1, [&](std::size_t) { return fields_to_json(observe()).dump(); }).front();
    observed = fields_from_json<std::vector<TunerObservation>>(Json::parse(answer));
  } else {
    observed = observe();
  }
  scenario.learners.per_gpu = observed.back().learners;
  return scenario;
}

void describe_learners(const Scenario& scenario, const Program& program, const std::vector<TunerObservation>& observed,
                       const Cluster& cluster, PointResult& point) {
  const int learners = scenario.learners.per_gpu;
  const SmaCost cost = sma_cost(scenario, point.batch_per_gpu);
  const double all_reduce_s =
      program.plans.empty() ? 0 : analytic_plan_s(program.plans[0], cluster, program.reduction_rate_bytes_per_s);
  const LearnerMemory memory = learner_memory(scenario, point.batch_per_gpu);
  const double bound = std::max(1.0, learners * cost.fill());

  // With several learners at once, this is the time of learning if nothing else waits.
  double learning_s = cost.update.seconds * std::max(1.0, learners * cost.update.fill);
  for (const LearningStep& step : cost.learning) learning_s += step.seconds * std::max(1.0, learners * step.fill);
  point.compute_s = learning_s + point.details.compute_slowed_by_collectives_s.value_or(0);
  point.input_wait_s /= learners;
  point.exposed_communication_s = std::max(0.0, point.mean_iteration_s() - point.compute_s - point.input_wait_s);

  LearnersDetails details;
  details.learners_per_gpu = learners;
  details.fill = cost.fill();
  details.samples_per_s_bound = point.samples_per_iteration / (cost.learning_s() * bound);
  details.learning_s = cost.learning_s();
  details.synchronisation_s.all_reduce = all_reduce_s;
  details.synchronisation_s.average_model = cost.average.seconds;
  if (scenario.learners.by_host) {
    details.synchronisation_s.differences = cost.differences.seconds;
  } else {
    details.synchronisation_s.local = cost.local.seconds;
    details.synchronisation_s.aggregate = cost.aggregate.seconds;
  }
  details.input_stall_s = point.input_wait_s;
  details.memory = {memory.learner_bytes(), memory.shared_bytes(),
                    memory.most_learners(scenario.cluster.gpu.memory_bytes)};
  if (!observed.empty()) {
    std::vector<TunerObservation> seen;
    for (const TunerObservation& o : observed)
      if (o.samples_per_s > 0) seen.push_back(o);
    point.notes.push_back(std::to_string(point.gpus) + " GPUs: the auto-tuner chose " + std::to_string(learners) +
                          (learners == 1 ? " learner" : " learners") + " per GPU after " + std::to_string(seen.size()) +
                          " observations.");
    details.auto_tuner = std::move(seen);
  }
  point.details.learners = std::move(details);
}

}  // namespace lockstep::sim::point
