// The CUDA runtime's functions of graphs: a capture keeps the work of its stream, a launch appends it again.
#include "tests/cuda_emulated/machine.hpp"

using namespace emulated;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  if (on.capture) return told(cudaErrorIllegalState);
  on.capture = std::make_unique<Graph>();
  on.capturing_thread = std::this_thread::get_id();
  on.is_spoilt = false;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(machine().mutex);
  Stream& on = of(stream);
  const std::unique_ptr<Graph> captured = std::move(on.capture);
  *graph = nullptr;
  if (on.is_spoilt) return told(cudaErrorStreamCaptureInvalidated);
  *graph = reinterpret_cast<cudaGraph_t>(new Graph(*captured));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  for (const Item& item : reinterpret_cast<Graph*>(executable)->items) append(of(stream), item);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Graph*>(executable);
  return cudaSuccess;
}
