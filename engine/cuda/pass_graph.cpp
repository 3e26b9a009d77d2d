#include "engine/cuda/pass_graph.hpp"

#include <stdexcept>

#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

PassGraph::~PassGraph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void PassGraph::run(cudaStream_t stream, const std::function<void()>& enqueue) {
  // The first pass also loads the kernels, which a capture could not wait for.
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
  // Only this thread's calls are forbidden to wait: other learners go on.
  LOCKSTEP_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    enqueue();
  } catch (const std::runtime_error& error) {
    refusal_ = error.what();  // an error that has nothing to do with the capture comes again without it
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
