#pragma once
// Times the parts of a pass on a stream by CUDA events. The stream is held until all of the pass is enqueued
// (hold.hpp), so that the host's launches do not show in the times.
#include <cuda_runtime_api.h>

#include <deque>
#include <vector>

#include "engine/cuda/hold.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::cuda {

class LayerTimer {
 public:
  /// Holds the stream, until finish() or the end of this object, which waits.
  explicit LayerTimer(cudaStream_t stream) : stream_(stream), hold_(stream) {}

  /// The first part begins here.
  void start();
  /// A part ends here, and the next begins.
  void mark(int layer, device::LayerPart part);
  /// Lets go, waits, and gives the parts in order.
  std::vector<device::LayerTime> finish();

 private:
  cudaStream_t stream_;
  Event begin_{true};
  std::deque<Event> ends_;
  std::vector<device::LayerTime> parts_;
  Hold hold_;  ///< the last: events go when the stream is done with them
};

}  // namespace lockstep::cuda
