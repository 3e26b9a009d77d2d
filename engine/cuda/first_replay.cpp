// Verifies the first replay of a training pass against an eager pass.
#include <algorithm>

#include "engine/cuda/self_check.hpp"
#include "engine/cuda/snapshot.hpp"

namespace lockstep::cuda {

bool CudaReplica::replayed() const {
  return std::all_of(bucket_graphs_.begin(), bucket_graphs_.end(),
                     [](const PassGraph& graph) { return graph.replayed(); });
}

void CudaReplica::disable_training_graphs(const std::string& why) {
  for (PassGraph& graph : bucket_graphs_) graph.disable(why);
}

/// Captures all sections of the training pass. If one of them cannot be captured, none is replayed.
bool CudaReplica::captures_training() {
  for (std::size_t b = 0; b < bucket_graphs_.size(); ++b) {
    if (bucket_graphs_[b].capture(stream_, [this, b] { training_section(b); })) continue;
    const std::string why = bucket_graphs_[b].refusal();
    disable_training_graphs(why);
    return false;
  }
  return true;
}

/// Eager and replayed pass do the same work on the same numbers, so their gradients must be bit-identical.
void CudaReplica::run_first_replay() {
  const Snapshot before(*this);
  training_pass();
  const DeviceBuffer<float> eager(gradient_.size());
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(eager.data(), gradient_.data(), static_cast<std::size_t>(eager.bytes()),
                                      cudaMemcpyDeviceToDevice, stream_));
  const Snapshot after(*this);
  if (!captures_training()) return stream_.synchronise();
  before.restore();
  LOCKSTEP_CUDA_CHECK(cudaMemsetAsync(gradient_.data(), 0xFF, static_cast<std::size_t>(gradient_.bytes()), stream_));
  for (PassGraph& graph : bucket_graphs_) graph.run(stream_, [] {});
  const std::int64_t differing = count_differing(eager.data(), gradient_.data(), gradient_.size(), stream_);
  if (differing == 0) return;
  disable_training_graphs("its first replay differs from the pass that it captured in " + std::to_string(differing) +
                          " of " + std::to_string(gradient_.size()) + " elements of the gradient");
  after.restore();
  LOCKSTEP_CUDA_CHECK(cudaMemcpyAsync(gradient_.data(), eager.data(), static_cast<std::size_t>(eager.bytes()),
                                      cudaMemcpyDeviceToDevice, stream_));
  stream_.synchronise();
}

}  // namespace lockstep::cuda
