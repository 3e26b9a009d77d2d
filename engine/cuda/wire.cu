// Converts gradients between floats and half precision, before and after they are sent between GPUs.
#include <algorithm>

#include "engine/cuda/vector_access.cuh"
#include "engine/cuda/wire.hpp"

namespace lockstep::cuda {
namespace {

constexpr unsigned kMostBlocks = 4096;

unsigned blocks_over(std::int64_t n) {
  return std::min(blocks_for(std::max<std::int64_t>(n, 1)), kMostBlocks);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    to_wire(std::int64_t n, float scale, const float* __restrict__ from, T* __restrict__ to) {
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += threads)
    to[i] = from_float<T>(from[i] * scale);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    from_wire(std::int64_t n, const T* __restrict__ from, float* __restrict__ to) {
  const std::int64_t threads = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += threads)
    to[i] = to_float(from[i]);
}

}  // namespace

void launch_to_wire(cudaStream_t stream, Element wire, std::int64_t n, float scale, const float* from, void* to) {
  const unsigned blocks = blocks_over(n);
  with_type(wire, [&](auto type) {
    using T = decltype(type);
    to_wire<T><<<blocks, kThreads, 0, stream>>>(n, scale, from, static_cast<T*>(to));
  });
  check_launch("to_wire");
}

void launch_from_wire(cudaStream_t stream, Element wire, std::int64_t n, const void* from, float* to) {
  const unsigned blocks = blocks_over(n);
  with_type(wire, [&](auto type) {
    using T = decltype(type);
    from_wire<T><<<blocks, kThreads, 0, stream>>>(n, static_cast<const T*>(from), to);
  });
  check_launch("from_wire");
}

}  // namespace lockstep::cuda
