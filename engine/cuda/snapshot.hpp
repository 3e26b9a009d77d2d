#pragma once
// A copy of the state that a training pass changes in addition to its gradient.
#include "engine/cuda/cuda_replica.hpp"

namespace lockstep::cuda {

/// Copies the running statistics and the pass state, which a training pass changes in addition to its gradient.
class CudaReplica::Snapshot {
 public:
  explicit Snapshot(const CudaReplica& replica)
      : replica_(replica), running_(replica.running_.size()), state_(replica.state_.size()) {
    copy(replica_.running_, running_);
    copy(replica_.state_, state_);
  }
  void restore() const {
    copy(running_, replica_.running_);
    copy(state_, replica_.state_);
  }

 private:
  template <typename T>
  void copy(const DeviceBuffer<T>& from, const DeviceBuffer<T>& to) const {
    if (from.bytes() == 0) return;
    LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(from.bytes()),
                                        cudaMemcpyDeviceToDevice, replica_.stream_));
  }

  const CudaReplica& replica_;
  DeviceBuffer<float> running_;
  DeviceBuffer<PassState> state_;
};

}  // namespace lockstep::cuda
