#include "sim/replay/point.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/base/statistics.hpp"
#include "sim/replay/programs.hpp"
#include "sim/replay/scenario_cost.hpp"
#include "sim/replay/trace.hpp"

namespace lockstep::sim {
namespace {

constexpr int kWarmUp = 1;  // iterations before the measured ones: the first one waits for its input

// Each group of inputs moved by its uncertainty alone, by the closed form; the effects add in quadrature.
void set_bounds(const Scenario& scenario, const Program& program, Cluster& cluster, double slowest,
                PointResult& point) {
  const auto iteration_s = [&](const Perturbation& perturbation) {
    const std::vector<double> ends = replay_analytic(program, cluster, slowest, perturbation).iteration_end_s;
    return ends.back() - ends[ends.size() - 2];
  };
  const double base = iteration_s({});
  const UncertaintySpec& u = scenario.uncertainty;
  const std::vector<std::pair<Perturbation, Perturbation>> moves{{{1 - u.compute, 1, 1}, {1 + u.compute, 1, 1}},
                                                                 {{1, 1 + u.bandwidth, 1}, {1, 1 - u.bandwidth, 1}},
                                                                 {{1, 1, 1 - u.latency}, {1, 1, 1 + u.latency}}};
  double gain = 0, loss = 0;
  for (const auto& [better, worse] : moves) {
    gain += std::pow(std::max(0.0, 1 - iteration_s(better) / base), 2);
    loss += std::pow(std::max(0.0, iteration_s(worse) / base - 1), 2);
  }
  point.relative_low = 1 - std::sqrt(gain);
  point.relative_high = 1 + std::sqrt(loss);
}

Replay replay_program(const Scenario& scenario, const PointRequest& request, const Program& program, Cluster& cluster) {
  ReplayOptions options;
  options.timeline_gpus = request.trace_gpus;
  const Jitter jitter = jitter_of(scenario, request.seed);
  if (request.fidelity == Fidelity::analytic)
    return replay_analytic(program, cluster, expected_slowest(scenario, request.gpus));
  Replay replay;
  if (request.fidelity == Fidelity::fast && replay_max_plus(program, cluster, jitter, options, replay)) return replay;
  return replay_messages(program, cluster, jitter, options);
}

// A point whose GPUs all run the same program.
PointResult predict_program(const Scenario& scenario, const PointRequest& request) {
  Cluster cluster(scenario.cluster, request.gpus);
  apply_overheads(scenario, cluster);
  const Program program = build_program(scenario, request.gpus, request.batch_per_gpu, kWarmUp + request.iterations);

  PointResult point;
  point.gpus = request.gpus;
  point.nodes = cluster.nodes();
  point.batch_per_gpu = request.batch_per_gpu;
  point.samples_per_iteration = request.gpus * double(request.batch_per_gpu);
  point.bytes_sent_per_gpu = program.bytes_sent_per_gpu_and_iteration();
  point.messages = program.messages_per_iteration();
  const double slowest = expected_slowest(scenario, request.gpus);
  set_bounds(scenario, build_program(scenario, request.gpus, request.batch_per_gpu, 3), cluster, slowest, point);

  const Replay replay = replay_program(scenario, request, program, cluster);
  for (int i = kWarmUp; i < kWarmUp + request.iterations; ++i) {
    const std::size_t n = static_cast<std::size_t>(i);
    point.iteration_s.push_back(replay.iteration_end_s[n] - replay.iteration_end_s[n - 1]);
    point.compute_s += replay.compute_s[n] / request.iterations;
    point.input_wait_s += replay.input_wait_s[n] / request.iterations;
  }
  point.exposed_communication_s = std::max(0.0, point.mean_iteration_s() - point.compute_s - point.input_wait_s);
  point.fidelity = to_string(request.fidelity);
  point.method = replay.method;
  point.events = replay.events;
  if (!request.trace_gpus.empty()) point.trace_events = trace_events(program, replay, scenario.cluster.gpus_per_node);
  return point;
}

}  // namespace

double PointResult::mean_iteration_s() const {
  return mean(iteration_s);
}

void apply_overheads(const Scenario& scenario, Cluster& cluster) {
  const double overhead_s = scenario.communication.message_overhead_s;
  cluster.set_message_overhead({overhead_s, overhead_s});
}

PointResult predict_point(const Scenario& scenario, const PointRequest& request) {
  const auto began = std::chrono::steady_clock::now();
  PointResult point = predict_program(scenario, request);
  point.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return point;
}

}  // namespace lockstep::sim
