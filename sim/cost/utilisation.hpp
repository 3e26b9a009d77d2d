#pragma once
// Computes the floating-point operations of a training, and the peak to which utilisation (MFU, HFU) is relative.
#include <algorithm>

#include "engine/model/graph.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/scenario/cluster_spec.hpp"

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

/// Returns the FLOP/s per GPU of the model's arithmetic, without recomputation. Attention counts without a mask
/// (Chowdhery et al. 2022, appendix B).
inline double model_flops_per_gpu(const model::Graph& model, double samples_per_s, int gpus) {
  return kTrainingFlopPerMac * static_cast<double>(model.macs()) * samples_per_s / gpus;
}

}  // namespace lockstep::sim::cost
