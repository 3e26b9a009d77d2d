#pragma once
// Sharded data parallelism (ZeRO, Rajbhandari et al. 2020; PyTorch FSDP, Zhao et al. 2023). Every GPU keeps 1/n of the
// parameters, gradients and optimizer state of every unit, which is a group of consecutive layers.
//
//   forward    Gather the unit's parameters from all GPUs, compute, free them.
//   backward   Gather them again, compute, reduce-scatter the unit's gradients: each GPU keeps the sum of its share.
//   update     Each GPU updates its share.
//
// The next `prefetch` units are gathered while a unit is computed. Units further ahead wait for memory, as in FSDP.
// Gathers and reduce-scatters share one stream, because they share one communicator. In the backward pass the gather of
// the next unit precedes the reduce-scatter of the last.
//
// With S bytes of parameters on the wire every GPU sends 3 (n-1)/n S per iteration. If parameters are kept from forward
// to backward it sends 2 (n-1)/n S, as in ZeRO-2 and an all-reduce.
#include "sim/schedule/s_sgd.hpp"

namespace lockstep::sim::schedule {

/// Consecutive layers that are gathered together.
struct ShardingUnit {
  std::string name;  ///< of its first and last layer
  int first_layer = 0;
  int last_layer = 0;
  std::int64_t bytes = 0;  ///< of its parameters, on the wire
};

/// Layers are collected into a unit, from the first on, until it has at least `unit_bytes`. A rest joins the last unit.
std::vector<ShardingUnit> sharding_units(const model::Graph& graph, int wire_bytes_per_element,
                                         std::int64_t unit_bytes);

struct Sharded : SSgd {
  int units_ahead = 1;        ///< units gathered in advance
  bool gathers_again = true;  ///< true: the backward pass gathers parameters again
  /// Every GPU has all gradients until the last micro-step, which exchanges them, and the weights from the first micro-step
  /// on (ZeRO-1; without gathers_again).
  bool keeps_gradients = false;
};

/// Streams: "input", "copy", "compute", "shards". Every GPU updates its 1/n of each tensor, in as many kernels as whole
/// ones take (as PyTorch's fully_shard): the launches stay, so that more GPUs save only the rest. Without `keeps_gradients`
/// every micro-step gathers weights and exchanges gradients, as FSDP does outside no_sync()
/// (SSgd::overlap does not apply). One GPU keeps everything and
/// exchanges nothing.
Program sharded(const model::Graph& graph, const ModelCost& cost, const std::vector<ShardingUnit>& units,
                const Sharded& options, const AllReduce& all_gather, const AllReduce& reduce_scatter);

}  // namespace lockstep::sim::schedule
