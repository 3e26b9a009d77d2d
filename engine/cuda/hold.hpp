#pragma once
// Holds a stream back while work is enqueued on it, so that what the host needs for that does not show in times that
// events take there.
#include <cuda_runtime_api.h>

#include <atomic>

namespace lockstep::cuda {

/// A host function waits at the stream's end: for let_go(), or for kLongest_s. Should something that is enqueued
/// meanwhile wait for the stream (a queue that is full, a kernel that is loaded at its first launch), it goes on then,
/// and the times have the host's part in them: late, but no deadlock.
class Hold {
 public:
  static constexpr double kLongest_s = 0.1;

  /// The stream's device is the current one.
  explicit Hold(cudaStream_t stream);
  /// Lets go and waits for the stream.
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void let_go() { is_open_ = true; }

 private:
  static void wait(void* is_open);

  cudaStream_t stream_;
  std::atomic<bool> is_open_{false};
};

}  // namespace lockstep::cuda
