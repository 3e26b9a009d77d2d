#include "sim/program/scenario_cost.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/base/statistics.hpp"

namespace lockstep::sim {
namespace {

// Measured layers instead of the roofline's: what each takes of the iteration, whose sum is measured on its own.
void take_layers(ModelCost& cost, const Scenario& scenario, int batch) {
  const ProfileSpec& profile = scenario.compute.profile;
  const std::vector<model::Layer>& layers = scenario.model.layers;
  for (std::size_t i = 0; profile.has_layers() && i < layers.size(); ++i) {
    const LayerSeconds seconds = profile.layer(layers[i].name, batch);
    cost.layers[i] = {seconds.forward_s, seconds.backward_s};
  }
  const calib::LineFit* update = profile.update(scenario.compute.optimizer);
  if (!profile.has_layers() || update == nullptr) return;
  cost.update_s = update->at(static_cast<double>(scenario.model.parameter_count()));
  cost.update_launch_s = std::min(cost.update_s, update->at(0));
}

}  // namespace

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
  device.fast_convolution_gain = compute.fast_convolution_gain;
  device.channel_tile = compute.channel_tile;
  device.cast_bytes_per_parameter = compute.cast_bytes_per_parameter;
  device.activation_bytes = compute.precision == "fp32" || compute.precision == "tf32" ? 4 : 2;
  return device;
}

ModelCost roofline_cost(const Scenario& scenario, int batch_per_gpu) {
  return roofline_cost(scenario.model, device_cost(scenario), optimizer_from(scenario.compute.optimizer),
                       batch_per_gpu);
}

ModelCost model_cost(const Scenario& scenario, int batch_per_gpu) {
  const DeviceCost device = device_cost(scenario);
  const Optimizer optimizer = optimizer_from(scenario.compute.optimizer);
  ModelCost cost = roofline_cost(scenario.model, device, optimizer, batch_per_gpu);
  if (const ProfileSpec& profile = scenario.compute.profile) {
    take_layers(cost, scenario, batch_per_gpu);
    cost.scale(profile.iteration(scenario.compute.busy_devices).at(batch_per_gpu) / cost.iteration_s());
    return cost;
  }
  std::vector<RateAnchor> anchors;
  for (const RateSpec& rate : scenario.compute.rates) anchors.push_back({rate.batch, rate.samples_per_s});
  if (anchors.empty()) return cost;
  const std::string& other = scenario.compute.rates.front().model;
  const model::Graph anchored = other.empty() ? scenario.model : model::zoo_graph(other);
  cost.scale(anchor_factor(anchored, device, optimizer, anchors, batch_per_gpu));
  return cost;
}

OverlapSlowdown overlap_slowdown(const Scenario& scenario) {
  if (scenario.compute.overlap_slowdown) return OverlapSlowdown(*scenario.compute.overlap_slowdown);
  const auto measured = scenario.compute.profile.overlap(scenario.compute.busy_devices);
  return measured ? measured->slowdown : OverlapSlowdown();
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
  // Of one GPU the mean, not the median; the slowest of several is above it, too.
  return std::max(1.0, std::exp(sigma * most - sigma * sigma / 2));
}

}  // namespace lockstep::sim
