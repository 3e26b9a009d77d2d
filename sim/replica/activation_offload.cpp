#include "sim/replica/activation_offload.hpp"

#include <algorithm>

namespace lockstep::sim::replica {
namespace {

double offloaded_bytes(const SplitJob& job) {
  double bytes = 0;
  for (int layer = 0; layer < job.spec.offload_layers; ++layer)
    if (layer % job.spec.recompute_interval == 0)
      bytes += kept_bytes(job.shape, job.spec_of(layer), layer, job.memory.activations);
  return bytes;
}

}  // namespace

void wait_for_offload(const ClusterSpec& cluster, const SplitJob& job, RankSeconds& seconds) {
  if (job.spec.offload_layers == 0) return;
  double forward_s = 0, backward_s = 0;
  for (const BlockSeconds& block : seconds.blocks) {
    forward_s += block.forward_s;
    backward_s += block.backward_s;
  }
  const double copies_s = offloaded_bytes(job) / cluster.host_link_bytes_per_s();
  const auto blocks = static_cast<double>(seconds.blocks.size());
  for (BlockSeconds& block : seconds.blocks) {
    block.forward_s += std::max(0.0, copies_s - forward_s) / blocks;
    block.backward_s += std::max(0.0, copies_s - backward_s) / blocks;
  }
}

}  // namespace lockstep::sim::replica
