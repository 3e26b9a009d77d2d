#pragma once
// Sums over the rows of a tensor, per channel, two sums at a time. Each block sums a part in a fixed order. Then the
// parts are added in a fixed order and in double.
#include <algorithm>

#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {

/// Threads per block and blocks per launch, both as (vectors, rows), that cover rows x channels.
struct ChannelGrid {
  dim3 blocks;
  dim3 threads;
};

/// Puts as many vectors of a row next to each other as possible with at most a quarter of the threads idle.
inline ChannelGrid channel_grid(std::int64_t rows, int channels, int width, int most_blocks) {
  const int vectors = channels / width;
  int across = 32;
  const auto covered = [&](int threads) { return (vectors + threads - 1) / threads * threads; };
  while (across > 1 && 4 * vectors < 3 * covered(across)) across /= 2;
  const int down = kThreads / across;
  const int columns = covered(across) / across;
  const std::int64_t useful = (rows + down - 1) / down;
  const std::int64_t wanted = std::max(1, most_blocks / columns);
  return {dim3(static_cast<unsigned>(columns), static_cast<unsigned>(std::min(useful, wanted))),
          dim3(static_cast<unsigned>(across), static_cast<unsigned>(down))};
}

constexpr int kApplyBlocks = 4096;  ///< for kernels without sums
constexpr int kRowsAtOnce = 4;      ///< per summing thread: number of loads in flight before the first is added

int attribute_of_gpu(cudaDeviceAttr which);  // defined in bias.cu; asks the current device

/// Upper limit of summing blocks that the current device can hold at once, for any kernel.
inline int most_sum_blocks() {
  return attribute_of_gpu(cudaDevAttrMultiProcessorCount) *
         std::max(1, attribute_of_gpu(cudaDevAttrMaxThreadsPerMultiProcessor) / kThreads);
}

/// Number of this kernel's blocks that the current device holds at once. So one wave: no block waits for another.
inline int resident_blocks(const void* kernel) {
  int of_one = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, kernel, kThreads, 0), "occupancy of channel_sums");
  return attribute_of_gpu(cudaDevAttrMultiProcessorCount) * std::max(1, of_one);
}

/// The place where a thread works: its V channels and the first of its rows.
template <int V>
struct ChannelPlace {
  int channel;
  std::int64_t row, stride;
  __device__ ChannelPlace()
      : channel(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * V),
        row(std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y),
        stride(std::int64_t{gridDim.y} * blockDim.y) {}
};

/// `Terms` has begin(channel), called once; a type Row with the inputs of one row; read(offset of V elements), which
/// returns a Row; and add(offset, Row, first sums, second sums). Rows are read kRowsAtOnce at a time and added in
/// order. partials: part x (first sums, second sums) x channels.
template <int V, typename Terms>
__global__ void __launch_bounds__(kThreads)
    channel_sums(Terms given, std::int64_t rows, int channels, float* __restrict__ partials) {
  __shared__ float shared[kThreads][2 * V];
  const ChannelPlace<V> at;
  float sums[2 * V] = {};
  if (at.channel < channels) {
    Terms terms = given;
    terms.begin(at.channel);
    std::int64_t row = at.row;
    for (; row + (kRowsAtOnce - 1) * at.stride < rows; row += kRowsAtOnce * at.stride) {
      typename Terms::Row read[kRowsAtOnce];
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) read[i] = terms.read((row + i * at.stride) * channels + at.channel);
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i)
        terms.add((row + i * at.stride) * channels + at.channel, read[i], sums, sums + V);
    }
    for (; row < rows; row += at.stride) {
      const std::int64_t offset = row * channels + at.channel;
      terms.add(offset, terms.read(offset), sums, sums + V);
    }
  }
  const unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 2 * V; ++k) shared[own][k] = sums[k];
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) {
#pragma unroll
      for (int k = 0; k < 2 * V; ++k) shared[own][k] += shared[own + half * blockDim.x][k];
    }
  }
  if (threadIdx.y != 0 || at.channel >= channels) return;
  float* part = partials + std::int64_t{blockIdx.y} * 2 * channels + at.channel;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    part[k] = shared[own][k];
    part[channels + k] = shared[own][V + k];
  }
}

constexpr int kFinishChannels = 32;
constexpr int kFinishSlices = 16;

/// Adds the partial sums of each channel and calls finish(channel, first sum, second sum).
template <typename Finish>
__global__ void __launch_bounds__(kFinishChannels* kFinishSlices)
    finish_sums(Finish finish, const float* __restrict__ partials, int parts, int channels) {
  __shared__ double shared[2][kFinishSlices][kFinishChannels];
  const int channel = static_cast<int>(blockIdx.x) * kFinishChannels + static_cast<int>(threadIdx.x);
  double first = 0;
  double second = 0;
  if (channel < channels) {
    for (int part = static_cast<int>(threadIdx.y); part < parts; part += kFinishSlices) {
      const float* sums = partials + std::int64_t{part} * 2 * channels + channel;
      first += static_cast<double>(sums[0]);
      second += static_cast<double>(sums[channels]);
    }
  }
  shared[0][threadIdx.y][threadIdx.x] = first;
  shared[1][threadIdx.y][threadIdx.x] = second;
  __syncthreads();
  if (threadIdx.y != 0 || channel >= channels) return;
  for (int slice = 1; slice < kFinishSlices; ++slice) {
    first += shared[0][slice][threadIdx.x];
    second += shared[1][slice][threadIdx.x];
  }
  finish(channel, first, second);
}

template <int V, typename Terms, typename Finish>
void sum_channels(const Terms& terms, const Finish& finish, std::int64_t rows, int channels, float* partials,
                  cudaStream_t stream) {
  const auto kernel = channel_sums<V, Terms>;
  const int resident = std::min(resident_blocks(reinterpret_cast<const void*>(kernel)), most_sum_blocks());
  const ChannelGrid grid = channel_grid(rows, channels, V, resident);
  channel_sums<V><<<grid.blocks, grid.threads, 0, stream>>>(terms, rows, channels, partials);
  check_launch("channel_sums");
  const unsigned blocks = static_cast<unsigned>((channels + kFinishChannels - 1) / kFinishChannels);
  finish_sums<<<blocks, dim3(kFinishChannels, kFinishSlices), 0, stream>>>(finish, partials,
                                                                           static_cast<int>(grid.blocks.y), channels);
  check_launch("finish_sums");
}

}  // namespace lockstep::cuda
