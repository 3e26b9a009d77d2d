#include "engine/cuda/chunks.hpp"

#include <algorithm>

namespace lockstep::cuda {
namespace {

bool are_same(const sync::Segment& a, const sync::Segment& b) {
  return a.begin == b.begin && a.count == b.count && a.is_weight == b.is_weight;
}

template <typename T>
DeviceBuffer<T> on_device(const std::vector<T>& values, cudaStream_t stream) {
  DeviceBuffer<T> buffer(static_cast<std::int64_t>(values.size()));
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(buffer.data(), values.data(), static_cast<std::size_t>(buffer.bytes()),
                                      cudaMemcpyHostToDevice, stream));
  return buffer;
}

template <typename T>
DeviceBuffer<T> zeros(std::size_t count, cudaStream_t stream) {
  DeviceBuffer<T> buffer(static_cast<std::int64_t>(count));
  LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(buffer.data(), 0, static_cast<std::size_t>(buffer.bytes()), stream));
  return buffer;
}

}  // namespace

Chunks chunks_of(const sync::Layout& layout) {
  Chunks result;
  for (const sync::Segment& segment : layout.segments) {
    const auto number = static_cast<std::int32_t>(result.ranges.size());
    const auto first = static_cast<std::int32_t>(result.chunks.size());
    const std::int64_t end = segment.begin + segment.count;
    for (std::int64_t begin = segment.begin; begin < end; begin += kChunkElements) {
      const auto count = static_cast<std::int32_t>(std::min<std::int64_t>(kChunkElements, end - begin));
      result.chunks.push_back({begin, count, number, segment.is_weight});
    }
    result.ranges.push_back({first, static_cast<std::int32_t>(result.chunks.size()) - first});
  }
  return result;
}

LayoutOnDevice::LayoutOnDevice(const sync::Layout& layout, cudaStream_t stream) : segments_(layout.segments) {
  const Chunks host = chunks_of(layout);
  chunks_ = on_device(host.chunks, stream);
  ranges_ = on_device(host.ranges, stream);
  partials_ = zeros<double>(2 * host.chunks.size(), stream);
  squares_ = zeros<double>(2 * host.ranges.size(), stream);
  arrived_ = zeros<std::uint32_t>(host.ranges.size(), stream);
  LOCKSTEP_CUDA_CHECK(cudaStreamSynchronize(stream));  // `host` is freed at the end of the function
}

bool LayoutOnDevice::is_table_of(const sync::Layout& layout) const {
  return std::equal(segments_.begin(), segments_.end(), layout.segments.begin(), layout.segments.end(), are_same);
}

SegmentTable LayoutOnDevice::table() const {
  return {chunks_.data(),  static_cast<std::int32_t>(chunks_.size()), ranges_.data(), partials_.data(), squares_.data(),
          arrived_.data(), static_cast<std::int32_t>(ranges_.size())};
}

}  // namespace lockstep::cuda
