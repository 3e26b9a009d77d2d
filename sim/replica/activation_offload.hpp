#pragma once
// Inside sim/replica: time of activations that lie in host memory between the passes (/parallel/offload_layers).
//
// A layer's activations of b bytes leave the GPU in the forward pass and come back in the backward pass. Copies of n
// layers are spread over all layers of the pass, as Transformer Engine does
// (transformer_engine/pytorch/cpu_offload.py, layer_window_map). They overlap computation, so a pass waits for
// `max(0, n b / (bandwidth between GPU and host) - pass)`. Copies overlap no exchange in this count.
#include "sim/program/split_job.hpp"
#include "sim/replica/rank_cost.hpp"

namespace lockstep::sim::replica {

/// Adds the waiting to the seconds of the blocks, divided evenly over them.
void wait_for_offload(const ClusterSpec& cluster, const SplitJob& job, RankSeconds& seconds);

}  // namespace lockstep::sim::replica
