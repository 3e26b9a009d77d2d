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
  /// From now on nothing is captured or replayed.
  void disable();
  /// Why the pass could not be captured; empty where it could, or was not tried.
  const std::string& refusal() const { return refusal_; }

 private:
  void capture(cudaStream_t stream, const std::function<void()>& enqueue);

  cudaGraphExec_t executable_ = nullptr;
  std::string refusal_;
  bool has_run_ = false;
  bool disabled_ = false;
};

}  // namespace lockstep::cuda
