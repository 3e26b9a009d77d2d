#pragma once
// A pass that always does the same work on the same memory. The first run is eager; the second is captured in a CUDA
// graph, which every later run replays with one launch.
#include <cuda_runtime_api.h>

#include <functional>
#include <string>

namespace lockstep::cuda {

class PassGraph {
 public:
  PassGraph() = default;
  ~PassGraph();
  PassGraph(const PassGraph&) = delete;
  PassGraph& operator=(const PassGraph&) = delete;

  /// Enqueues the pass on the stream. `enqueue` must enqueue the same work each time and must not wait for the device.
  /// If the pass cannot be captured (a library refuses), it is enqueued each time.
  void run(cudaStream_t stream, const std::function<void()>& enqueue);
  /// Whether the last run replayed the graph.
  bool replayed() const { return executable_ != nullptr; }
  /// Whether the next run captures the pass.
  bool is_to_capture() const { return has_run_ && !is_disabled_ && executable_ == nullptr; }
  /// Captures the pass without running it; its work must have run before, so that kernels are loaded. Returns false on
  /// failure.
  bool capture(cudaStream_t stream, const std::function<void()>& enqueue);
  /// From now on nothing is captured or replayed. `why`, if given, becomes the refusal.
  void disable(const std::string& why = "");
  /// The reason why the pass is not replayed; empty if it is, or if capture was not tried.
  const std::string& refusal() const { return refusal_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
  std::string refusal_;
  bool has_run_ = false;
  bool is_disabled_ = false;
};

}  // namespace lockstep::cuda
