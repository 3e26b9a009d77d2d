#include "engine/cuda/runtime.hpp"
#include "engine/cuda/side_kernels.hpp"

namespace lockstep::cuda {
namespace {

__global__ void __launch_bounds__(kSideThreads) side_sum(std::int64_t n, const float* __restrict__ x, float* y) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kSideThreads + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * kSideThreads;
  const float4* const x4 = reinterpret_cast<const float4*>(x);
  float4* const y4 = reinterpret_cast<float4*>(y);
  for (std::int64_t i = first; i < n / 4; i += stride) {
    const float4 a = x4[i];
    float4 b = y4[i];
    b.x += a.x;
    b.y += a.y;
    b.z += a.z;
    b.w += a.w;
    y4[i] = b;
  }
  for (std::int64_t i = n / 4 * 4 + first; i < n; i += stride) y[i] += x[i];
}

}  // namespace

void launch_side_sum(cudaStream_t stream, std::int64_t n, const float* x, float* y) {
  side_sum<<<kSideBlocks, kSideThreads, 0, stream>>>(n, x, y);
  LOCKSTEP_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lockstep::cuda
