#pragma once
// A kernel that takes of a GPU what a collective's takes: few thread blocks that read two arrays and write one.
#include <cuda_runtime_api.h>

#include <cstdint>

namespace lockstep::cuda {

constexpr int kSideBlocks = 16;    ///< an assumption: as many channels as NCCL opens between GPUs of one machine
constexpr int kSideThreads = 512;  ///< of a block

/// y <- x + y on `stream` of the current device, by kSideBlocks blocks. x and y as cudaMalloc() aligns them.
void launch_side_sum(cudaStream_t stream, std::int64_t n, const float* x, float* y);

}  // namespace lockstep::cuda
