#pragma once
// Sends gradients between GPUs in half precision. Each GPU's share g / k is rounded once, NCCL sums in that precision,
// and the sum is converted to floats. With bf16, values keep the range of floats and 8 bits of precision. With fp16,
// they keep 11 bits for values between 6e-5 and 65504, fewer below, and nothing under 3e-8.
#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/cuda/element.hpp"

namespace lockstep::cuda {

/// to_i <- scale * from_i, rounded to `wire` elements.
void launch_to_wire(cudaStream_t stream, Element wire, std::int64_t n, float scale, const float* from, void* to);
void launch_from_wire(cudaStream_t stream, Element wire, std::int64_t n, const void* from, float* to);

}  // namespace lockstep::cuda
