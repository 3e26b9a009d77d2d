#pragma once
// The environment of a kernel, for kernels that are compiled for the CPU and run by emulated threads. It is included
// before every translated source. One kernel runs at a time.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

namespace emulated {

struct Configuration {
  dim3 blocks, threads;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

/// Enqueues a kernel; `thread` is the work of one thread. An impossible configuration sets the error of the stream's
/// device, which cudaGetLastError() returns.
void launch(const char* kernel, const Configuration& configuration, std::function<void()> thread);

/// Waits for all threads of the block (of the warp).
void wait_for_block();
void wait_for_warp();
/// Returns the value that another thread of the warp has stored; `value` is this thread's.
std::uint64_t exchange(std::uint64_t value, unsigned lane);
unsigned own_lane();

template <typename T>
T exchange_as(T value, unsigned lane) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(bits, lane);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace emulated

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)

inline void __syncthreads() {
  emulated::wait_for_block();
}
inline void __threadfence() {}
template <typename T>
T __ldcg(const T* from) {
  return *from;
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulated::exchange_as(value, emulated::own_lane() ^ static_cast<unsigned>(mask));
}
template <typename T>
T __shfl_down_sync(unsigned, T value, int delta) {
  const unsigned from = emulated::own_lane() + static_cast<unsigned>(delta);
  return emulated::exchange_as(value, from < 32 ? from : emulated::own_lane());
}
inline std::uint32_t atomicAdd(std::uint32_t* at, std::uint32_t value) {
  const std::uint32_t before = *at;
  *at += value;
  return before;
}
using std::isfinite;
using std::max;
using std::min;
