#pragma once
// Holds a stream back while work is enqueued on it, so that what the host needs for that does not show in times that
// events take there.
#include <cuda_runtime_api.h>

#include <atomic>

namespace lockstep::cuda {

/// A host function waits at the stream's end: for let_go(), or for kLongest_s. Should something that is enqueued
/// meanwhile wait for the stream (a queue that is full, a kernel that is loaded at its first launch), it goes on then:
/// late, but no deadlock. The times have the host's part in them then and are none: has_lapsed() tells.
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
  /// Whether the stream went on before let_go(). Known when the stream's later work is done.
  bool has_lapsed() const { return has_lapsed_; }

 private:
  static void wait(void* hold);

  cudaStream_t stream_;
  std::atomic<bool> is_open_{false};
  std::atomic<bool> has_lapsed_{false};
};

}  // namespace lockstep::cuda
