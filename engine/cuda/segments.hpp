#pragma once
// The position of every parameter tensor in a replica's packed copy, and the table that the pack and unpack kernels
// follow. Needs no GPU.
//
// The algorithms' flat buffer holds convolution weights as K x C x R x S and fully-connected weights as O x (C x H x
// W). In the packed copy both have channels last: rows x taps x channels, with rows = K or O and taps = R S or H W.
// Padded channels stay zero. Weights are stored as the replica's elements, vectors (biases, gamma, beta) as floats.
// cuBLASLt needs the bias of a fully-connected layer as elements, so that bias is packed twice. Gradients have the same
// offsets.
#include <cstdint>
#include <vector>

#include "engine/cuda/element.hpp"

namespace lockstep::model {
struct Graph;
}

namespace lockstep::cuda {

/// One tensor, rows x channels x taps in the flat buffer and rows x taps x stored_channels in the packed one. It is cut
/// into tiles; each thread block moves one. The device reads this struct unchanged.
struct Segment {
  std::int64_t flat;    ///< offset in the flat buffer
  std::int64_t packed;  ///< offset in the packed elements, or in the packed floats
  bool is_float;
  int rows, channels, taps, stored_channels;
  int tile_rows, tile_channels, tile_taps;
  int first_block;  ///< first block in the whole table
};
constexpr int kTileElements = 2048;

/// A tile of a segment covers rows [row, row + rows), and so on.
struct Tile {
  int row, rows, channel, channels, tap, taps;
};

#ifdef __CUDACC__
#define LOCKSTEP_HOST_DEVICE __host__ __device__
#else
#define LOCKSTEP_HOST_DEVICE
#endif

LOCKSTEP_HOST_DEVICE inline int tiles_along(int size, int tile) {
  return (size - 1) / tile + 1;
}
LOCKSTEP_HOST_DEVICE inline int smaller(int a, int b) {
  return a < b ? a : b;
}

/// Returns tile `index` of a segment.
LOCKSTEP_HOST_DEVICE inline Tile tile_of(const Segment& s, int index) {
  const int across_taps = tiles_along(s.taps, s.tile_taps);
  const int across_channels = tiles_along(s.channels, s.tile_channels);
  const int tap = index % across_taps * s.tile_taps;
  const int channel = index / across_taps % across_channels * s.tile_channels;
  const int row = index / across_taps / across_channels * s.tile_rows;
  return {row, smaller(s.tile_rows, s.rows - row), channel, smaller(s.tile_channels, s.channels - channel),
          tap, smaller(s.tile_taps, s.taps - tap)};
}

/// The index of element (row, channel, tap) in the flat buffer and in the packed one.
LOCKSTEP_HOST_DEVICE inline std::int64_t flat_index(const Segment& s, int row, int channel, int tap) {
  return s.flat + (std::int64_t{row} * s.channels + channel) * s.taps + tap;
}
LOCKSTEP_HOST_DEVICE inline std::int64_t packed_index(const Segment& s, int row, int channel, int tap) {
  return s.packed + (std::int64_t{row} * s.taps + tap) * s.stored_channels + channel;
}
/// The segment of a block: the last one that begins at or before it.
LOCKSTEP_HOST_DEVICE inline int segment_of(const Segment* segments, int count, int block) {
  int low = 0;
  int high = count - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (segments[middle].first_block <= block)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// Holds the position of one parameter of a layer; -1: absent.
struct PackedParameter {
  std::int64_t element = -1;  ///< offset in the packed elements
  std::int64_t real = -1;     ///< offset in the packed floats
};

struct Packing {
  std::vector<Segment> pack;    ///< parameters: flat -> packed
  std::vector<Segment> unpack;  ///< gradients: packed -> flat; each element of the flat buffer once
  int pack_blocks = 0;
  int unpack_blocks = 0;
  std::int64_t elements = 0;                             ///< size of the packed elements
  std::int64_t reals = 0;                                ///< size of the packed floats
  std::vector<std::vector<PackedParameter>> parameters;  ///< by layer and parameter
};

Packing make_packing(const model::Graph& graph, int input_channels);

}  // namespace lockstep::cuda
