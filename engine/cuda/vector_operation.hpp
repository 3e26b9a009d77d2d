#pragma once
// Parts of CudaVectorOps: a device with its stream and working memory, and one operation over arrays that may be on
// several devices. Only vector_ops.cpp and its siblings include this.
#include <algorithm>
#include <deque>
#include <vector>

#include "engine/cuda/chunks.hpp"
#include "engine/cuda/vector_ops.hpp"
#include "engine/cuda/vector_ops_kernels.hpp"

namespace lockstep::cuda {

inline std::size_t bytes_of(std::int64_t n) {
  return static_cast<std::size_t>(n) * sizeof(float);
}

struct CudaVectorOps::Device {
  Device(int of_number, int of_gpu)
      : number(of_number), gpu(of_gpu), dot_partials(kMostDotBlocks), dot_result(1), dot_arrived(1) {
    LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(dot_arrived.data(), 0, sizeof(std::uint32_t), updates));
  }

  int number;
  int gpu;
  Stream updates;
  Stream beside{Stream::Priority::highest};  ///< highest priority, because collectives delay all GPUs together
  bool beside_is_pending = false;            ///< `updates` does not yet wait for `beside`
  Event beside_done;
  Event reached;  ///< another device or a replica waits for it before it reads
  Event done;     ///< other devices wait for it before they continue
  DeviceBuffer<double> dot_partials;
  DeviceBuffer<double> dot_result;
  DeviceBuffer<std::uint32_t> dot_arrived;
  DeviceBuffer<double> guard{1};  ///< |g|^2 of the gradients that update_where_finite() checks
  bool is_guarded = false;
  DeviceBuffer<char> wire;                   ///< gradients in half precision
  std::vector<DeviceBuffer<float>> staging;  ///< copies of other devices' arrays
  std::deque<LayoutOnDevice> layouts;
  std::vector<ReplicaGate*> closed_gates;
};

/// One operation on `device` over arrays of n floats on any device. End it with finish().
class CudaVectorOps::Operation {
 public:
  Operation(CudaVectorOps& ops, int device, std::int64_t n)
      : ops_(ops), device_(ops.on(device)), n_(n), stream_(ops.stream_of(device)), on_device_(device_.gpu) {}

  cudaStream_t stream() const { return stream_; }

  const float* read(const float* x) { return local(x); }
  /// For an array that is read and written.
  float* write(float* x) {
    float* copy = local(x);
    if (copy != x) written_.push_back({x, copy});
    return copy;
  }
  /// Allows overwriting of staging memory that earlier kernels of this operation have read.
  void reuse_staging() { staged_.clear(); }

  /// y <- x, where y is on the operation's device.
  void copy(const float* x, float* y) {
    const int from = ops_.device_of(x);
    if (from == device_.number) {
      LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(y, x, bytes_of(n_), cudaMemcpyDeviceToDevice, stream_));
      return;
    }
    wait_for(from);
    LOCKSTEP_CUDA_CHECK(cudaMemcpyPeerAsync(y, device_.gpu, x, ops_.gpu(from), bytes_of(n_), stream_));
  }

  /// Copies written arrays back to their devices, and makes those devices wait for that.
  void finish() {
    for (const Staged& array : written_) {
      const int to = ops_.gpu(ops_.device_of(array.original));
      LOCKSTEP_CUDA_CHECK(
          cudaMemcpyPeerAsync(const_cast<float*>(array.original), to, array.copy, device_.gpu, bytes_of(n_), stream_));
    }
    if (others_.empty()) return;
    device_.done.record(stream_);
    for (const int other : others_) device_.done.hold(ops_.current_stream_of(other));
  }

 private:
  struct Staged {
    const float* original;
    float* copy;
  };

  /// Returns x itself, or its copy on this device. An array is copied only once, however often it is named.
  float* local(const float* x) {
    const int from = ops_.device_of(x);
    if (from == device_.number) return const_cast<float*>(x);
    for (const Staged& array : staged_) {
      if (array.original == x) return array.copy;
    }
    float* copy = staging(staged_.size());
    wait_for(from);
    LOCKSTEP_CUDA_CHECK(cudaMemcpyPeerAsync(copy, device_.gpu, x, ops_.gpu(from), bytes_of(n_), stream_));
    staged_.push_back({x, copy});
    return copy;
  }

  float* staging(std::size_t slot) {
    std::vector<DeviceBuffer<float>>& slots = device_.staging;
    if (slots.size() <= slot) slots.resize(slot + 1);
    if (slots[slot].size() < n_) slots[slot] = DeviceBuffer<float>(n_);
    return slots[slot].data();
  }

  void wait_for(int other) {
    if (std::find(others_.begin(), others_.end(), other) != others_.end()) return;
    Device& from = ops_.on(other);
    from.reached.record(ops_.stream_of(other));
    from.reached.hold(stream_);
    others_.push_back(other);
  }

  CudaVectorOps& ops_;
  Device& device_;
  std::int64_t n_;
  cudaStream_t stream_;
  OnDevice on_device_;
  std::vector<int> others_;
  std::vector<Staged> staged_;
  std::vector<Staged> written_;
};

template <typename Pointer>
std::vector<std::vector<Pointer>> CudaVectorOps::by_device(const std::vector<Pointer>& buffers) const {
  std::vector<std::vector<Pointer>> result(devices_.size());
  for (const Pointer buffer : buffers) result[static_cast<std::size_t>(device_of(buffer))].push_back(buffer);
  return result;
}

/// Whether there are buffers on all GPUs, of this process or of several.
template <typename Pointer>
bool CudaVectorOps::is_for_nccl(const std::vector<std::vector<Pointer>>& by_device) const {
  const bool is_everywhere =
      std::none_of(by_device.begin(), by_device.end(), [](const auto& on_one) { return on_one.empty(); });
  const bool is_one_of_many = processes() > 1;
  if (is_one_of_many) sync::require(are_distinct_ && is_everywhere, "vector: a sum over processes takes all GPUs");
  return is_one_of_many || (devices() > 1 && are_distinct_ && is_everywhere);
}

}  // namespace lockstep::cuda
