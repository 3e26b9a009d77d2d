#pragma once
// Tensor fusion: decides which gradients are sent together.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::schedule {

/// Gradients that one all-reduce sums.
struct Bucket {
  std::string name;        ///< of its first and last tensor
  std::int64_t bytes = 0;  ///< on the wire
  int tensors = 0;
  int last_layer = 0;  ///< index of the layer whose backward pass completes it
};

/// Fuses gradients in the order in which back-propagation produces them. Tensors collect in a buffer, which is sent as
/// soon as it holds at least `threshold_bytes` (Jia et al. 2018, section 4.3). The remaining ones are sent at the end.
/// With a threshold of 0, every tensor is sent alone. The first buffer may have a threshold of its own; -1: it has
/// none. PyTorch's DistributedDataParallel fills the first bucket to 1 MiB and the others to 25 MiB, so that the first
/// all-reduce starts early.
std::vector<Bucket> fuse_gradients(const model::Graph& graph, int wire_bytes_per_element, std::int64_t threshold_bytes,
                                   std::int64_t first_threshold_bytes = -1);

}  // namespace lockstep::sim::schedule
