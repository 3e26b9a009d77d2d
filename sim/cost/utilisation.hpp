#pragma once
// What utilisation (MFU, HFU) is over.
#include <algorithm>

#include "sim/scenario/choices.hpp"
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim {
inline namespace cost {

/// Operations per second of a GPU that a job's arithmetic is divided by: the peak of dense half precision for mixed
/// precision and for what is narrower, as the field has it, so that a job in fp8 compares with one in bf16 (torchtitan's
/// get_peak_flops(), torchtitan/tools/utils.py, is bf16's peak whatever the precision). Single precision and tf32: their
/// own. 0: not known.
inline double utilisation_peak_flops(const GpuSpec& gpu, Precision precision) {
  const double half = std::max(gpu.fp16_flops, gpu.bf16_flops);
  return activation_bytes(precision) == 2 && half > 0 ? half : gpu.peak_flops(precision);
}

}  // namespace cost
}  // namespace lockstep::sim
