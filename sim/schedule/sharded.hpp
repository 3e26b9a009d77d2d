#pragma once
// Sharded data parallelism (ZeRO, Rajbhandari et al. 2020; PyTorch FSDP, Zhao et al. 2023). A unit is a group of
// consecutive layers. Every GPU keeps 1/n of every unit's parameters, gradients and optimizer state.
//
//   forward    Gathers the unit's parameters from all GPUs, computes, frees them.
//   backward   Gathers them again, computes, reduce-scatters the unit's gradients: each GPU keeps the sum of its share.
//   update     Each GPU updates its share.
//
// The next `units_ahead` units are gathered while a unit is computed. Units further ahead wait for memory, as in FSDP.
// Gathers and reduce-scatters share one stream, because they share one communicator. In the backward pass, the gather
// of the next unit precedes the reduce-scatter of the previous one.
//
// With S bytes of parameters on the wire, every GPU sends 3 (n-1)/n S per iteration. If parameters are kept from
// forward to backward, it sends 2 (n-1)/n S, as in ZeRO-2 and in an all-reduce.
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::schedule {

/// Consecutive layers that are gathered together.
struct ShardingUnit {
  std::string name;  ///< of its first and last layer
  int first_layer = 0;
  int last_layer = 0;
  std::int64_t bytes = 0;  ///< of its parameters, on the wire
};

/// Collects layers into units of at least `unit_bytes`; the last one may be smaller. Layers without parameters join
/// one.
std::vector<ShardingUnit> sharding_units(const model::Graph& graph, int wire_bytes_per_element,
                                         std::int64_t unit_bytes);

struct Sharded : SSgd {
  int units_ahead = 1;        ///< units gathered in advance
  bool gathers_again = true;  ///< true: the backward pass gathers parameters again
  /// Every GPU keeps all gradients until the last micro-step, which exchanges them, and all weights from the first
  /// micro-step on (ZeRO-1; requires gathers_again to be false).
  bool keeps_gradients = false;
};

/// Streams: "input", "copy", "compute", "shards". Every GPU updates its 1/n of each tensor, in as
/// many kernels as for whole tensors (as PyTorch's fully_shard), so more GPUs do not save
/// launches. Without `keeps_gradients` every micro-step gathers weights and exchanges gradients,
/// as FSDP does outside no_sync(). SSgd::overlap does not apply. One GPU keeps everything and
/// exchanges nothing.
Program sharded(const model::Graph& graph, const ModelCost& cost, const std::vector<ShardingUnit>& units,
                const Sharded& options, const AllReduce& all_gather, const AllReduce& reduce_scatter);

}  // namespace lockstep::sim::schedule
