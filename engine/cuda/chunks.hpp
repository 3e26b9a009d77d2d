#pragma once
// A layout of parameters cut into chunks, so that a launch treats hundreds of tensors of very different sizes alike: a
// block of threads per chunk, whatever tensor it belongs to.
#include <cstdint>
#include <vector>

#include "engine/cuda/runtime.hpp"
#include "engine/cuda/vector_ops_kernels.hpp"
#include "engine/sync/learner.hpp"

namespace lockstep::cuda {

/// In the order of the layout; each segment's chunks follow each other.
struct Chunks {
  std::vector<Chunk> chunks;
  std::vector<ChunkRange> ranges;  ///< per segment
};
Chunks chunks_of(const sync::Layout& layout);

/// The table of one layout in the memory of the current device, ready for what is enqueued on `stream` later.
class LayoutOnDevice {
 public:
  LayoutOnDevice(const sync::Layout& layout, cudaStream_t stream);
  bool is_of(const sync::Layout& layout) const;
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
