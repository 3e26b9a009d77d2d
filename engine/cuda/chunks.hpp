#pragma once
// Cuts a layout of parameters into chunks. A launch runs one block of threads per chunk, so that hundreds of tensors of
// very different sizes need only one launch and keep all blocks equally busy.
#include <cstdint>
#include <vector>

#include "engine/cuda/runtime.hpp"
#include "engine/cuda/vector_ops_kernels.hpp"
#include "engine/sync/learner.hpp"

namespace lockstep::cuda {

/// In the order of the layout; a segment's chunks are consecutive.
struct Chunks {
  std::vector<Chunk> chunks;
  std::vector<ChunkRange> ranges;  ///< per segment
};
Chunks chunks_of(const sync::Layout& layout);

/// The chunk table of one layout in the current device's memory; work enqueued on `stream` later can use it.
class LayoutOnDevice {
 public:
  LayoutOnDevice(const sync::Layout& layout, cudaStream_t stream);
  bool is_table_of(const sync::Layout& layout) const;
  SegmentTable table() const;

 private:
  std::vector<sync::Segment> segments_;
  DeviceBuffer<Chunk> chunks_;
  DeviceBuffer<ChunkRange> ranges_;
  DeviceBuffer<double> partials_;
  DeviceBuffer<double> squares_;
  DeviceBuffer<std::uint32_t> arrived_;
};

}  // namespace lockstep::cuda
