#include "engine/cuda/pass_graph.hpp"

#include <stdexcept>

#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

PassGraph::~PassGraph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void PassGraph::run(cudaStream_t stream, const std::function<void()>& enqueue) {
  // The first run is eager and loads the kernels, because a capture must not wait for that.
  if (is_to_capture()) capture(stream, enqueue);
  if (executable_ != nullptr)
    LOCKSTEP_CUDA_CHECK(cudaGraphLaunch(executable_, stream));
  else
    enqueue();
  has_run_ = true;
}

void PassGraph::disable(const std::string& why) {
  is_disabled_ = true;
  if (!why.empty()) refusal_ = why;
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  executable_ = nullptr;
}

bool PassGraph::capture(cudaStream_t stream, const std::function<void()>& enqueue) {
  // Only this thread must not wait during the capture; other learners continue.
  LOCKSTEP_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    enqueue();
  } catch (const std::runtime_error& error) {
    refusal_ = error.what();  // an error with another cause comes again in the eager run
  }
  cudaGraph_t graph = nullptr;
  cudaError_t status = cudaStreamEndCapture(stream, &graph);
  if (refusal_.empty() && status == cudaSuccess) {
    status = cudaGraphInstantiate(&executable_, graph, 0);
    if (status != cudaSuccess) executable_ = nullptr;
  }
  if (graph != nullptr) cudaGraphDestroy(graph);
  forget_cuda_error();
  if (executable_ != nullptr) return true;
  is_disabled_ = true;
  if (refusal_.empty()) refusal_ = std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status);
  return false;
}

}  // namespace lockstep::cuda
