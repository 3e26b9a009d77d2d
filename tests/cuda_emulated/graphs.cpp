// The CUDA runtime's functions for graphs. A capture keeps the work of its stream, and a launch appends it again.
#include <utility>

#include "tests/cuda_emulated/knobs.hpp"
#include "tests/cuda_emulated/machine.hpp"

std::atomic<bool> emulated::refuses_graphs{false}, emulated::loses_graphs_end{false};
std::atomic<std::uint64_t> emulated::graph_launches{0};

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
  if (refuses_graphs) return told(cudaErrorNotSupported);
  auto* made = new Graph(*reinterpret_cast<Graph*>(graph));
  if (loses_graphs_end && !made->items.empty()) made->items.pop_back();
  *executable = reinterpret_cast<cudaGraphExec_t>(made);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(machine().mutex);
  ++graph_launches;
  bool is_counted = true;
  for (Item item : reinterpret_cast<Graph*>(executable)->items) {
    item.is_counted = std::exchange(is_counted, false);
    append(of(stream), item);
  }
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
