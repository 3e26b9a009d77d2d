#pragma once
// Divides the model over parameter servers, and computes where in a step each part is needed and ready.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"

namespace lockstep::sim::schedule {

/// A part of the parameters that is sent separately, and its work. A worker needs the parameters for `forward_s`, and
/// has their gradient after `backward_s`.
struct Shard {
  std::string name;  ///< name of its first layer, or of its module
  std::int64_t bytes = 0;
  double forward_s = 0;
  double backward_s = 0;
  int server = 0;
  bool is_side_branch = false;  ///< no later layer needs its output, so its backward pass can follow at once
};

/// Returns one shard per server, of equal bytes, rounded up (tensors are cut), bottom layers first. Identical servers
/// make the events of their messages coincide, so that a replay of many workers is fast. A layer's work belongs to the
/// shard that holds the last of its parameters. Layers without parameters belong to the shard of the next layer, or to
/// the last shard.
std::vector<Shard> equal_shards(const model::Graph& graph, const ModelCost& cost, int bytes_per_element, int servers);

/// Returns one shard per module, bottom first. A module is consecutive layers whose names agree up to the first '.'
/// or '/'. Each module goes to the server that holds the fewest bytes so far. Layers without parameters belong to
/// the next module. If no path leads from a module to the last layer, it is a side branch (an auxiliary
/// classifier).
std::vector<Shard> module_shards(const model::Graph& graph, const ModelCost& cost, int bytes_per_element, int servers);

}  // namespace lockstep::sim::schedule
