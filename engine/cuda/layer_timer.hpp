#pragma once
// Times the parts of a pass on a stream by CUDA events. The stream is held until all of the pass is enqueued (or for
// `kLongestHold_s`, should the queue fill up first), so that the host's launches do not show in the times.
#include <cuda_runtime_api.h>

#include <atomic>
#include <deque>
#include <vector>

#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::cuda {

class LayerTimer {
 public:
  static constexpr double kLongestHold_s = 0.1;

  /// Holds the stream.
  explicit LayerTimer(cudaStream_t stream);
  /// Lets go and waits.
  ~LayerTimer();
  LayerTimer(const LayerTimer&) = delete;
  LayerTimer& operator=(const LayerTimer&) = delete;

  /// The first part begins here.
  void start();
  /// A part ends here, and the next begins.
  void mark(int layer, device::LayerPart part);
  /// Lets go, waits, and gives the parts in order.
  std::vector<device::LayerTime> finish();

 private:
  static void hold(void* open);

  cudaStream_t stream_;
  std::atomic<bool> open_{false};
  Event begin_{true};
  std::deque<Event> ends_;
  std::vector<device::LayerTime> parts_;
};

}  // namespace lockstep::cuda
