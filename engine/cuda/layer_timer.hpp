#pragma once
// Times the parts of a pass on a stream by CUDA events. Thousands of kernels and events are more than a stream's queue
// holds (about a thousand): the pass is captured in a graph with its events and replayed by one launch, so that the
// host's launches do not show in the times. Where it cannot be captured, the stream is held until all of it is enqueued
// (hold.hpp), and a pass that is too long for that is refused.
#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/cuda/pass_graph.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/device/backend.hpp"

namespace lockstep::cuda {

/// Where the parts of a pass end.
class LayerTimer {
 public:
  /// `is_captured`: the marks become part of the graph that the stream captures, and each launch of it sets them anew.
  LayerTimer(cudaStream_t stream, bool is_captured) : stream_(stream), is_captured_(is_captured) {}

  /// The first part begins here.
  void start();
  /// A part ends here, and the next begins.
  void mark(int layer, device::LayerPart part);
  /// The parts in order, when the stream is done.
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
  /// Its device is the current one, now and in run().
  explicit TimedPass(cudaStream_t stream) : stream_(stream) {}

  /// Runs the pass, waits, and gives the times of its parts. `enqueue` marks where they end, enqueues the same each
  /// time, and what it enqueues has run before. Throws std::runtime_error where the pass can neither be captured nor
  /// enqueued while the stream is held.
  std::vector<device::LayerTime> run(const std::function<void(LayerTimer&)>& enqueue);

 private:
  std::vector<device::LayerTime> run_held(const std::function<void(LayerTimer&)>& enqueue) const;

  cudaStream_t stream_;
  bool has_tried_ = false;
  std::unique_ptr<LayerTimer> timer_;  ///< of the graph
  PassGraph graph_;                    ///< goes before the events in it
};

}  // namespace lockstep::cuda
