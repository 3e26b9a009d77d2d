#pragma once
// A pass that is always the same work on the same memory: run once as it is, then captured in a CUDA graph, which every
// later pass replays with one launch.
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

  /// Enqueues the pass on the stream. `enqueue` must enqueue the same each time and not wait for the device. Where it
  /// cannot be captured (a library that refuses) the pass goes on being enqueued.
  void run(cudaStream_t stream, const std::function<void()>& enqueue);
  /// Whether the last run replayed the graph.
  bool replayed() const { return executable_ != nullptr; }
  /// Whether the next run captures the pass.
  bool is_to_capture() const { return has_run_ && !is_disabled_ && executable_ == nullptr; }
  /// Captures it without running it: everything in it has run before, kernels are loaded. False where it cannot be.
  bool capture(cudaStream_t stream, const std::function<void()>& enqueue);
  /// From now on nothing is captured or replayed; `why`, where given, becomes the refusal.
  void disable(const std::string& why = "");
  /// Why the pass is not replayed; empty where it is, or was not tried.
  const std::string& refusal() const { return refusal_; }

 private:
  cudaGraphExec_t executable_ = nullptr;
  std::string refusal_;
  bool has_run_ = false;
  bool is_disabled_ = false;
};

}  // namespace lockstep::cuda
