#include "engine/cuda/pass_graph.hpp"

#include <stdexcept>

#include "engine/cuda/runtime.hpp"

namespace lockstep::cuda {

PassGraph::~PassGraph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void PassGraph::run(cudaStream_t stream, const std::function<void()>& enqueue) {
  // The first pass also loads the kernels, which a capture could not wait for.
  if (has_run_ && !disabled_ && executable_ == nullptr) capture(stream, enqueue);
  if (executable_ != nullptr)
    LOCKSTEP_CUDA_CHECK(cudaGraphLaunch(executable_, stream));
  else
    enqueue();
  has_run_ = true;
}

void PassGraph::disable() {
  disabled_ = true;
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  executable_ = nullptr;
}

void PassGraph::capture(cudaStream_t stream, const std::function<void()>& enqueue) {
  // Only this thread's calls are forbidden to wait: other learners go on.
  LOCKSTEP_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bool enqueued = true;
  try {
    enqueue();
  } catch (const std::runtime_error&) {
    enqueued = false;  // an error that has nothing to do with the capture comes again without it
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (enqueued && ended == cudaSuccess && cudaGraphInstantiate(&executable_, graph, 0) != cudaSuccess) {
    executable_ = nullptr;
  }
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  if (executable_ == nullptr) disabled_ = true;
}

}  // namespace lockstep::cuda
