#pragma once
// A kernel that uses the GPU as a collective does: few thread blocks read two arrays and write one.
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep::cuda {

constexpr int kSideBlocks = 16;    ///< assumed: the number of channels that NCCL opens between GPUs of one machine
constexpr int kSideThreads = 512;  ///< per block

/// Runs y <- x + y on `stream` of the current device with kSideBlocks blocks. x and y must be aligned as by
/// cudaMalloc().
void launch_side_sum(cudaStream_t stream, std::int64_t n, const float* x, float* y);

}  // namespace lockstep::cuda
