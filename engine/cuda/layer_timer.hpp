#pragma once
// Times the parts of a pass on a stream by CUDA events. A pass has thousands of kernels and events, but a stream's
// queue holds about a thousand. So the pass and its events are captured in a graph and replayed by one launch, which
// keeps the host's launches out of the times. If it cannot be captured, the stream is held until everything is enqueued
// (hold.hpp). A pass that is too long for that is refused.
#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/cuda/pass_graph.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::cuda {

/// Marks where the parts of a pass end.
class LayerTimer {
 public:
  /// If `is_captured`, the marks are part of the captured graph, and each launch records them again.
  LayerTimer(cudaStream_t stream, bool is_captured) : stream_(stream), is_captured_(is_captured) {}

  /// Begins the first part.
  void start();
  /// Ends a part and begins the next.
  void mark(int layer, device::LayerPart part);
  /// Returns the times of the parts in order. Call it when the stream is done.
  std::vector<device::LayerTime> times() const;

 private:
  void record(cudaEvent_t event) const;

  cudaStream_t stream_;
  bool is_captured_;
  Event begin_{true};
  std::deque<Event> ends_;
  std::vector<device::LayerTime> parts_;
};

class TimedPass {
 public:
  /// The stream's device must be current, now and in run().
  explicit TimedPass(cudaStream_t stream) : stream_(stream) {}

  /// Runs the pass, waits, and returns the times of its parts. `enqueue` marks the ends of parts; it must enqueue the
  /// same work each time, and that work must have run before. Throws std::runtime_error if the pass can neither be
  /// captured nor enqueued while the stream is held.
  std::vector<device::LayerTime> run(const std::function<void(LayerTimer&)>& enqueue);

 private:
  std::vector<device::LayerTime> run_held(const std::function<void(LayerTimer&)>& enqueue) const;

  cudaStream_t stream_;
  bool has_tried_ = false;
  std::unique_ptr<LayerTimer> timer_;  ///< its events belong to the graph
  PassGraph graph_;                    ///< destroyed before the events that it contains
};

}  // namespace lockstep::cuda
