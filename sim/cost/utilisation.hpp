#pragma once
// Computes the floating-point operations of a training, and the peak to which utilisation (MFU, HFU) is relative.
#include <algorithm>

#include "engine/model/graph.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::cost {

/// Returns the peak FLOP/s to which a job's utilisation (MFU) is relative. For mixed precision and for fewer bits, it
/// is the dense half-precision peak, as is common, so that a job in fp8 can be compared with one in bf16.
/// (torchtitan's get_peak_flops(), torchtitan/tools/utils.py, also returns bf16's peak for every precision.) Single
/// precision and tf32 have their own peaks. GPUs without units of half precision compute in single precision. 0:
/// unknown.
inline double utilisation_peak_flops(const GpuSpec& gpu, Precision precision) {
  const double half = std::max({gpu.fp16_flops, gpu.bf16_flops, gpu.fp32_flops});
  return activation_bytes(precision) == 2 && half > 0 ? half : gpu.peak_flops(precision);
}

/// FLOP per multiply-add of a model in training: 2 in each of forward pass, gradient of inputs, gradient of weights.
constexpr double kTrainingFlopPerMac = 3 * 2;

/// FLOP of the model's arithmetic on a sample in training, without recomputation. Attention counts as if nothing were
/// masked (Chowdhery et al. 2022, appendix B). Frozen weights of adapters have no gradients: two thirds.
inline double training_flop(const Scenario& scenario) {
  const model::Graph& model = scenario.model;
  if (!scenario.parallel || scenario.parallel->lora_rank == 0)
    return kTrainingFlopPerMac * static_cast<double>(model.macs());
  double flop = 0;
  for (const model::Layer& layer : model.layers)
    flop += (layer.parameters.empty() ? 3 : 2) * 2 * static_cast<double>(layer.macs);
  return flop;
}

/// Returns the FLOP/s per GPU of that arithmetic.
inline double model_flops_per_gpu(const Scenario& scenario, double samples_per_s, int gpus) {
  return training_flop(scenario) * samples_per_s / gpus;
}

/// Returns the model FLOP utilisation (Chowdhery et al. 2022, appendix B): the model's FLOP/s over the GPU's peak. 0:
/// the peak is unknown.
inline double model_utilisation(double flops_per_gpu, double peak_flops) {
  return peak_flops > 0 ? flops_per_gpu / peak_flops : 0;
}

/// Returns the hardware FLOP utilisation (the same paper), with recomputation.
inline double hardware_utilisation(double mfu, double recomputed_share) {
  return mfu * (1 + recomputed_share);
}

}  // namespace lockstep::sim::cost
