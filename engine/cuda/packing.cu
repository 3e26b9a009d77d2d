// Copies parameters from the flat buffer to the replica's packed copy, and gradients back; each direction is one launch
// for all tensors. Each block moves one tile through shared memory, so that both sides are accessed in their own order.
#include <algorithm>

#include "engine/cuda/vector_access.cuh"

namespace lockstep::cuda {
namespace {

__device__ int elements_of(const Tile& tile) {
  return tile.rows * tile.channels * tile.taps;
}

/// Finds row, channel and tap of a tile's i-th element in the order of the flat buffer.
struct FlatPosition {
  int row, channel, tap;
  __device__ FlatPosition(const Tile& tile, int i)
      : row(i / (tile.channels * tile.taps)), channel(i / tile.taps % tile.channels), tap(i % tile.taps) {}
};

/// Finds row, tap and channel of a tile's i-th element in the order of the packed copy.
struct PackedPosition {
  int row, tap, channel;
  __device__ PackedPosition(const Tile& tile, int i)
      : row(i / (tile.channels * tile.taps)), tap(i / tile.channels % tile.taps), channel(i % tile.channels) {}
};

__device__ int flat_order(const Tile& tile, int row, int channel, int tap) {
  return (row * tile.channels + channel) * tile.taps + tap;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    pack(const Segment* __restrict__ segments, int count, const PassState* __restrict__ state, T* __restrict__ elements,
         float* __restrict__ reals) {
  __shared__ float values[kTileElements];
  const Segment segment = segments[segment_of(segments, count, static_cast<int>(blockIdx.x))];
  const Tile tile = tile_of(segment, static_cast<int>(blockIdx.x) - segment.first_block);
  const float* parameters = state->parameters;
  for (int i = static_cast<int>(threadIdx.x); i < elements_of(tile); i += kThreads) {
    const FlatPosition at(tile, i);
    values[i] = parameters[flat_index(segment, tile.row + at.row, tile.channel + at.channel, tile.tap + at.tap)];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < elements_of(tile); i += kThreads) {
    const PackedPosition at(tile, i);
    const float value = values[flat_order(tile, at.row, at.channel, at.tap)];
    const std::int64_t to = packed_index(segment, tile.row + at.row, tile.channel + at.channel, tile.tap + at.tap);
    if (segment.is_float)
      reals[to] = value;
    else
      elements[to] = from_float<T>(value);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    unpack(const Segment* __restrict__ segments, int count, int first_block, const T* __restrict__ elements,
           const float* __restrict__ reals, float* __restrict__ gradient, PassState* state) {
  __shared__ float values[kTileElements];
  const int block = first_block + static_cast<int>(blockIdx.x);
  const Segment segment = segments[segment_of(segments, count, block)];
  const Tile tile = tile_of(segment, block - segment.first_block);
  const float factor = 1 / state->loss_scale;
  bool finite = true;
  for (int i = static_cast<int>(threadIdx.x); i < elements_of(tile); i += kThreads) {
    const PackedPosition at(tile, i);
    const std::int64_t from = packed_index(segment, tile.row + at.row, tile.channel + at.channel, tile.tap + at.tap);
    const float value = segment.is_float ? reals[from] : to_float(elements[from]);
    finite = finite && isfinite(value);
    values[flat_order(tile, at.row, at.channel, at.tap)] = value * factor;
  }
  if (!finite) state->overflow = 1;  // several threads may write this: same value
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < elements_of(tile); i += kThreads) {
    const FlatPosition at(tile, i);
    gradient[flat_index(segment, tile.row + at.row, tile.channel + at.channel, tile.tap + at.tap)] = values[i];
  }
}

__global__ void __launch_bounds__(kThreads) settle(float* gradient, std::int64_t count, PassState* state) {
  if (state->automatic == 0) return;
  const bool overflow = state->overflow != 0;  // stays set until stage_input() of the next pass
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (overflow) {
      state->loss_scale = fmaxf(state->loss_scale / 2, 1.0F);
      state->good_passes = 0;
    } else if (++state->good_passes == kPassesUntilDoubled) {
      state->loss_scale = fminf(state->loss_scale * 2, kLargestLossScale);
      state->good_passes = 0;
    }
  }
  if (!overflow) return;
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) gradient[i] = 0;
}

}  // namespace

void pack_parameters(Element element, const PackTable& table, const PassState* state, void* elements, float* reals,
                     cudaStream_t stream) {
  if (table.blocks == 0) return;
  with_type(element, [&](auto type) {
    using T = decltype(type);
    pack<T><<<static_cast<unsigned>(table.blocks), kThreads, 0, stream>>>(table.segments, table.count, state,
                                                                          static_cast<T*>(elements), reals);
  });
  check_launch("pack");
}

void unpack_gradients(Element element, const PackTable& table, const void* elements, const float* reals,
                      float* gradient, PassState* state, cudaStream_t stream) {
  if (table.blocks == 0) return;
  with_type(element, [&](auto type) {
    using T = decltype(type);
    unpack<T><<<static_cast<unsigned>(table.blocks), kThreads, 0, stream>>>(
        table.segments, table.count, table.first_block, static_cast<const T*>(elements), reals, gradient, state);
  });
  check_launch("unpack");
}

void settle_loss_scale(float* gradient, std::int64_t count, PassState* state, cudaStream_t stream) {
  const unsigned blocks = std::min(blocks_for(std::max<std::int64_t>(count, 1)), 1024U);
  settle<<<blocks, kThreads, 0, stream>>>(gradient, count, state);
  check_launch("settle");
}

}  // namespace lockstep::cuda
