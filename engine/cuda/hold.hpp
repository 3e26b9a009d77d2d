#pragma once
// Holds a stream while work is enqueued on it, so that times between CUDA events do not include the host's enqueueing.
#include <cuda_runtime_api.h>

#include <atomic>

namespace lockstep::cuda {

/// Enqueues a host function that blocks the stream until let_go(), or for at most kLongest_s. If enqueueing itself
/// waits for the stream (because its queue is full, or a kernel is loaded at its first launch), the limit prevents a
/// deadlock. Then the times include host work and are invalid; has_lapsed() reports that.
class Hold {
 public:
  static constexpr double kLongest_s = 0.1;

  /// The stream must belong to the current device.
  explicit Hold(cudaStream_t stream);
  /// Releases the stream and waits for it.
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void let_go() { is_open_ = true; }
  /// Whether the stream continued before let_go(). Valid only when the stream's later work is done.
  bool has_lapsed() const { return has_lapsed_; }

 private:
  static void wait(void* hold);

  cudaStream_t stream_;
  std::atomic<bool> is_open_{false};
  std::atomic<bool> has_lapsed_{false};
};

}  // namespace lockstep::cuda
