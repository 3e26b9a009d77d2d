#include "sim/replay/point.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/replay/trace.hpp"
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim {
namespace {

constexpr int kWarmUp = 1;  // iterations before the measured ones: the first one waits for its input

Optimizer optimizer_from(const std::string& name) {
  if (name == "sgd") return Optimizer::sgd;
  return name == "lars" ? Optimizer::lars : Optimizer::momentum;
}

// Mixed precision stores activations in two bytes.
DeviceCost device_cost(const Scenario& scenario) {
  const ComputeSpec& compute = scenario.compute;
  const GpuSpec& gpu = scenario.cluster.gpu;
  DeviceCost device;
  device.peak_flops = gpu.peak_flops(compute.precision);
  device.memory_bandwidth_bytes_per_s = gpu.memory_bandwidth_bytes_per_s;
  device.launch_s = compute.launch_s;
  device.compute_efficiency.clear();
  for (const EfficiencySpec& point : compute.compute_efficiency)
    device.compute_efficiency.push_back({point.flop, point.efficiency});
  device.memory_efficiency = compute.memory_efficiency;
  device.activation_bytes = compute.precision == "fp32" || compute.precision == "tf32" ? 4 : 2;
  return device;
}

AllReduce all_reduce_of(const Scenario& scenario) {
  const CommunicationSpec& spec = scenario.communication;
  const int columns = spec.torus_columns > 0 ? spec.torus_columns : scenario.cluster.gpus_per_node;
  if (spec.all_reduce == "ring") return ring_all_reduce;
  if (spec.all_reduce == "halving-doubling") return halving_doubling_all_reduce;
  if (spec.all_reduce == "hierarchical")
    return [k = spec.group_size, m = spec.chain_slices](int gpus, std::int64_t bytes) {
      return hierarchical_all_reduce(gpus, k, bytes, m);
    };
  if (spec.all_reduce == "double-binary-tree")
    return
        [m = spec.tree_slices](int gpus, std::int64_t bytes) { return double_binary_tree_all_reduce(gpus, m, bytes); };
  if (spec.all_reduce == "torus")
    return [columns](int gpus, std::int64_t bytes) { return torus_all_reduce(gpus, std::min(columns, gpus), bytes); };
  return [k = spec.group_size, m = spec.chain_slices, threshold = spec.hybrid_threshold_bytes](int gpus,
                                                                                               std::int64_t bytes) {
    return bytes >= threshold ? ring_all_reduce(gpus, bytes) : hierarchical_all_reduce(gpus, k, bytes, m);
  };
}

// The load of the input pipeline: a node's loader serves its GPUs one after the other.
SSgd s_sgd_options(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations) {
  SSgd options;
  options.gpus = gpus;
  options.iterations = iterations;
  const InputSpec& input = scenario.input;
  const int gpus_of_node = std::min(gpus, scenario.cluster.gpus_per_node);
  if (input.samples_per_s_per_node > 0)
    options.load_s = double(batch_per_gpu) * gpus_of_node / input.samples_per_s_per_node;
  options.to_device_s =
      batch_per_gpu * input.bytes_per_sample / scenario.cluster.intra_node.pcie.gpu_link.bandwidth_bytes_per_s;
  options.prefetch = input.prefetch;
  options.overlap = scenario.communication.overlap;
  options.launch_s = scenario.communication.launch_overhead_s;
  return options;
}

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

}  // namespace

double PointResult::mean_iteration_s() const {
  return mean(iteration_s);
}

ModelCost model_cost(const Scenario& scenario, int batch_per_gpu) {
  const DeviceCost device = device_cost(scenario);
  const Optimizer optimizer = optimizer_from(scenario.compute.optimizer);
  ModelCost cost = roofline_cost(scenario.model, device, optimizer, batch_per_gpu);
  std::vector<RateAnchor> anchors;
  for (const RateSpec& rate : scenario.compute.rates) anchors.push_back({rate.batch, rate.samples_per_s});
  if (anchors.empty()) return cost;
  const std::string& other = scenario.compute.rates.front().model;
  const model::Graph anchored = other.empty() ? scenario.model : model::zoo_graph(other);
  cost.scale(anchor_factor(anchored, device, optimizer, anchors, batch_per_gpu));
  return cost;
}

Program build_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations) {
  const ModelCost cost = model_cost(scenario, batch_per_gpu);
  const int wire_bytes = scenario.communication.wire == "fp16" ? 2 : 4;
  const std::vector<Bucket> buckets =
      fuse_gradients(scenario.model, wire_bytes, scenario.communication.fusion_threshold_bytes);
  Program program = s_sgd(scenario.model, cost, buckets, s_sgd_options(scenario, gpus, batch_per_gpu, iterations),
                          all_reduce_of(scenario));
  program.reduction_rate_bytes_per_s = scenario.communication.reduction_rate_bytes_per_s;
  return program;
}

Jitter jitter_of(const Scenario& scenario, std::uint64_t seed) {
  const double variation = scenario.compute.jitter_variation;
  switch (scenario.compute.jitter) {
    case JitterKind::none:
      break;
    case JitterKind::normal:
      return [=](int gpu, int iteration) { return std::max(0.0, 1 + variation * random_normal(seed, gpu, iteration)); };
    case JitterKind::lognormal: {
      // Mean 1 and the given standard deviation: sigma^2 = ln(1 + cv^2), mu = -sigma^2 / 2.
      const double sigma = std::sqrt(std::log1p(variation * variation));
      return [=](int gpu, int iteration) {
        return std::exp(sigma * random_normal(seed, gpu, iteration) - sigma * sigma / 2);
      };
    }
  }
  return [](int, int) { return 1.0; };
}

double expected_slowest(const Scenario& scenario, int gpus) {
  const double variation = scenario.compute.jitter_variation;
  const double most = expected_normal_maximum(gpus);
  if (scenario.compute.jitter == JitterKind::none) return 1;
  if (scenario.compute.jitter == JitterKind::normal) return 1 + variation * most;
  const double sigma = std::sqrt(std::log1p(variation * variation));
  return std::exp(sigma * most - sigma * sigma / 2);
}

void apply_overheads(const Scenario& scenario, Cluster& cluster) {
  const double overhead_s = scenario.communication.message_overhead_s;
  cluster.set_message_overhead({overhead_s, overhead_s});
}

PointResult predict_point(const Scenario& scenario, const PointRequest& request) {
  const auto began = std::chrono::steady_clock::now();
  Cluster cluster(scenario.cluster, request.gpus);
  apply_overheads(scenario, cluster);
  const Program program = build_program(scenario, request.gpus, request.batch_per_gpu, kWarmUp + request.iterations);

  PointResult point;
  point.gpus = request.gpus;
  point.nodes = cluster.nodes();
  point.batch_per_gpu = request.batch_per_gpu;
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
  point.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return point;
}

}  // namespace lockstep::sim
