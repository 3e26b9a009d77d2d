#include "sim/program/scenario_cost.hpp"

#include "engine/model/checkpoints.hpp"
#include "engine/model/zoo/zoo.hpp"

namespace lockstep::sim::program {
namespace {

// Replaces the roofline times of layers by the measured ones of the profile.
void set_measured_layers(ModelCost& cost, const Scenario& scenario, int batch) {
  const ProfileSpec& profile = scenario.compute.profile;
  const std::vector<model::Layer>& layers = scenario.model.layers;
  for (std::size_t i = 0; profile.has_layers() && i < layers.size(); ++i) {
    const LayerSeconds seconds = profile.layer(layers[i].name, batch);
    cost.layers[i] = {seconds.forward_s, seconds.backward_s};
  }
  const calib::LineFit* update = profile.update(name_of(scenario.compute.optimizer));
  if (!profile.has_layers() || update == nullptr) return;
  cost.update_s = update->at(static_cast<double>(scenario.model.parameter_count()));
  cost.update_launch_s = std::min(cost.update_s, update->at(0));
}

// Bytes per half-precision element: it is read (2), written in eight bits (1), and written again, transposed (1).
constexpr double kEightBitCopies = 2 + 1 + 1;
// Bytes per element: it is read to find the tensor's largest value (the scale), read again, and written twice in four
// bits. Sixteen elements share a scale of one byte.
constexpr double kFourBitCopies = 2 + 2 + 2 * (0.5 + 1.0 / 16);

// Every peak is multiplied by the efficiency of the job's precision. So the peak in half precision has the ratio of the
// two speeds in it.
void set_low_precision_costs(DeviceCost& device, Precision precision, const KernelsSpec& kernels, const GpuSpec& gpu) {
  const double half_flops =
      std::max(gpu.fp16_flops, gpu.bf16_flops) * (kernels.gpus.empty() ? 1 : kernels.speed_in_half() / kernels.speed);
  if (precision == Precision::fp8) device.operand_copy_bytes = kEightBitCopies;
  if (precision == Precision::fp4) {
    device.operand_copy_bytes = kFourBitCopies;
  }
  if (device.operand_copy_bytes > 0) device.half_peak_flops = half_flops;
}

KernelPrecision kernel_precision(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return KernelPrecision::fp32;
    case Precision::tf32:
      return KernelPrecision::tf32;
    case Precision::fp8:
      return KernelPrecision::fp8;
    case Precision::fp4:
      return KernelPrecision::nvfp4;
    default:
      return KernelPrecision::bf16;
  }
}

void set_kernel_laws(DeviceCost& device, const ComputeSpec& compute, const GpuSpec& gpu) {
  if (compute.kernels.laws == nullptr) return;
  KernelPeaks peaks = kernel_peaks(gpu);
  peaks.half_flops =
      std::max(peaks.half_flops, peaks.fp32_flops);  // without half-precision units, libraries use single precision
  const KernelsSpec& kernels = compute.kernels;
  device.kernels = std::make_shared<const TrainingKernels>(kernels.laws, peaks, kernel_precision(compute.precision),
                                                           KernelSpeeds{kernels.speed, kernels.speed_in_half()});
}

}  // namespace

// Mixed precision stores activations in two bytes.
DeviceCost describe_device(const ComputeSpec& compute, const GpuSpec& gpu) {
  DeviceCost device;
  device.peak_flops = gpu.peak_flops(compute.precision);
  device.memory_bandwidth_bytes_per_s = gpu.memory_bandwidth_bytes_per_s;
  set_low_precision_costs(device, compute.precision, compute.kernels, gpu);
  set_kernel_laws(device, compute, gpu);
  device.launch_s = compute.launch_s;
  device.host_launch_s = compute.host_launch_s;
  device.compute_efficiency.clear();
  for (const EfficiencySpec& point : compute.compute_efficiency)
    device.compute_efficiency.push_back({point.flop, point.efficiency});
  device.attention_efficiency = compute.attention_efficiency;
  device.expert_efficiency = compute.expert_efficiency;
  device.unaligned_efficiency = {compute.unaligned_2_efficiency, compute.unaligned_4_efficiency};
  device.gelu_bytes = compute.gelu_bytes;
  device.rms_norm_bytes = compute.rms_norm_bytes;
  device.rotary_bytes = compute.rotary_bytes;
  device.loss_bytes_per_logit = compute.loss_bytes_per_logit;
  device.memory_efficiency = compute.memory_efficiency;
  device.fast_convolution_gain = compute.fast_convolution_gain;
  device.channel_tile = compute.channel_tile;
  device.cast_bytes_per_parameter = compute.cast_bytes_per_parameter;
  device.sum_bytes = compute.sum_bytes;
  device.softmax_bytes = compute.softmax_bytes;
  device.update_element_bytes = compute.update_element_bytes();
  device.saved_update_bytes = compute.kept.saved_update_bytes(compute.optimizer, device.update_element_bytes);
  device.activation_bytes = activation_bytes(compute.precision);
  return device;
}

DeviceCost describe_device(const Scenario& scenario) {
  return describe_device(scenario.compute, scenario.cluster.gpu);
}

ModelCost roofline_cost(const Scenario& scenario, int batch_per_gpu) {
  return roofline_cost(scenario.model, describe_device(scenario), scenario.compute.optimizer, batch_per_gpu);
}

namespace {

ModelCost cost_of_passes(const Scenario& scenario, int batch_per_gpu) {
  const DeviceCost device = describe_device(scenario);
  const Optimizer optimizer = scenario.compute.optimizer;
  ModelCost cost = roofline_cost(scenario.model, device, optimizer, batch_per_gpu);
  if (const ProfileSpec& profile = scenario.compute.profile) {
    set_measured_layers(cost, scenario, batch_per_gpu);
    cost.scale(profile.iteration(scenario.compute.busy_devices).at(batch_per_gpu) / cost.iteration_s());
    return cost;
  }
  std::vector<RateAnchor> anchors;
  for (const RateSpec& rate : scenario.compute.rates) anchors.push_back({rate.batch, rate.samples_per_s});
  if (anchors.empty()) {
    cost.scale(scenario.compute.time_factor);
    return cost;
  }
  const std::string& other = scenario.compute.rates.front().model;
  const model::Graph anchored = other.empty() ? scenario.model : model::zoo_graph(other);
  cost.scale(anchor_factor(anchored, device, optimizer, anchors, batch_per_gpu));
  return cost;
}

}  // namespace

ModelCost model_cost(const Scenario& scenario, int batch_per_gpu) {
  ModelCost cost = cost_of_passes(scenario, batch_per_gpu);
  if (scenario.compute.recomputes_blocks) {
    const std::vector<int> blocks = model::checkpointed_blocks(scenario.model);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i] >= 0) cost.layers[i].backward_s += cost.layers[i].forward_s;
  }
  const std::vector<double>& repeated = scenario.compute.repeated_shares;
  for (std::size_t i = 0; i < repeated.size(); ++i) cost.layers[i].backward_s += repeated[i] * cost.layers[i].forward_s;
  return cost;
}

OverlapSlowdown overlap_slowdown(const Scenario& scenario) {
  if (scenario.compute.overlap_slowdown) return OverlapSlowdown(*scenario.compute.overlap_slowdown);
  const auto measured = scenario.compute.profile.overlap(scenario.compute.busy_devices);
  if (!measured) return OverlapSlowdown();
  return measured->is_in_turns ? measured->slowdown.in_turns() : measured->slowdown;
}

}  // namespace lockstep::sim::program
