#include "engine/cuda/output_sums.hpp"

#include "engine/cuda/batch_norm_moments.cuh"
#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

constexpr int kSummedChannels = 32;  // per block
constexpr int kSummedSlices = 16;    // parallel parts of a channel that is summed again

/// False for NaN.
__device__ bool are_good(double mean, double variance) {
  return mean * mean <= static_cast<double>(kMostDeviations * kMostDeviations) * variance;
}

template <typename T>
__global__ void __launch_bounds__(kSummedChannels* kSummedSlices)
    finish_given_sums(BatchNormData data, const T* __restrict__ x, const float* __restrict__ sums,
                      const float* __restrict__ squares) {
  __shared__ double again[2][kSummedSlices][kSummedChannels];
  __shared__ bool is_bad[kSummedChannels];
  const int channel = static_cast<int>(blockIdx.x) * kSummedChannels + static_cast<int>(threadIdx.x);
  const bool is_one = channel < data.channels;
  const auto n = static_cast<double>(data.rows);
  const double first = is_one ? static_cast<double>(sums[channel]) : 0;
  const double second = is_one ? static_cast<double>(squares[channel]) : 0;
  const double mean = first / n;
  if (threadIdx.y == 0) is_bad[threadIdx.x] = is_one && !are_good(mean, second / n - mean * mean);
  __syncthreads();
  const bool is_again = is_bad[threadIdx.x];
  const float origin = is_again && isfinite(mean) ? static_cast<float>(mean) : 0;
  if (is_again) {
    double off = 0, off_squares = 0;
    for (std::int64_t row = threadIdx.y; row < data.rows; row += kSummedSlices) {
      const auto d = static_cast<double>(to_float(x[row * data.channels + channel]) - origin);
      off += d;
      off_squares += d * d;
    }
    again[0][threadIdx.y][threadIdx.x] = off;
    again[1][threadIdx.y][threadIdx.x] = off_squares;
  }
  __syncthreads();
  if (threadIdx.y != 0 || !is_one) return;
  if (!is_again) return finish_moments(data, channel, 0, first, second);
  double off = 0, off_squares = 0;
  for (int slice = 0; slice < kSummedSlices; ++slice) {
    off += again[0][slice][threadIdx.x];
    off_squares += again[1][slice][threadIdx.x];
  }
  finish_moments(data, channel, origin, off, off_squares);
}

}  // namespace

void batch_norm_statistics_from_sums(Element element, const BatchNormData& data, const void* x, const float* sums,
                                     const float* squares, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((data.channels + kSummedChannels - 1) / kSummedChannels);
  with_type(element, [&](auto type) {
    using T = decltype(type);
    finish_given_sums<<<blocks, dim3(kSummedChannels, kSummedSlices), 0, stream>>>(data, static_cast<const T*>(x), sums,
                                                                                   squares);
  });
  check_launch("finish_given_sums");
}

}  // namespace lockstep::cuda
