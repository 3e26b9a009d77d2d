#pragma once
// Synchronous SGD whose gradients do not go round in an all-reduce, but layer by layer through an exchange of their
// own: a parameter server, sufficient factors, or what else sim/collective/ has. After Poseidon (Zhang et al. 2017,
// Algorithm 2): wait-free back-propagation starts a layer's exchange as soon as its gradient exists, beside those of
// other layers and of the computation; without overlap all exchanges start after the backward pass.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/schedule/passes.hpp"

namespace lockstep::sim::schedule {

/// How a layer's gradient, or a piece of it, is synchronised: the steps in their order. A step of 0 s, or a plan
/// without phases, is left out.
struct LayerExchange {
  int layer = 0;  ///< index in Graph::layers
  std::string name;
  double encode_s = 0;     ///< on the GPU, before: quantise
  double to_host_s = 0;    ///< staging copy
  Plan push;               ///< gradients or factors to whoever adds them
  double server_s = 0;     ///< the busiest server, between push and pull; one piece after the other
  Plan pull;               ///< parameters back
  double to_device_s = 0;  ///< staging copy
  double decode_s = 0;     ///< on the GPU, after: multiply out factors, expand bits
};

/// Its Loading never blocks.
struct ParameterServer : Loading {
  int gpus = 1;  ///< ranks, those that only serve included
  int iterations = 1;
  bool overlap = true;   ///< wait-free back-propagation; otherwise exchanges start after the backward pass
  double launch_s = 0;   ///< before the first message of every push
  int streams = 1;       ///< pushes, and pulls, in flight at once: exchange i takes number i mod `streams` of each
  bool barrier = false;  ///< the next forward pass waits for all layers; otherwise a layer's waits for its own
  bool staging_blocks = false;  ///< staging copies take the computation's place; without overlap, nothing else goes on
};

/// Streams of every GPU: "input", "copy", "compute", "to host", "to device", "server", "synchronised", "push 0", ...
/// and "pull 0", ...: pulls have their own, so that they go on beside the pushes of what comes next. `exchanges`: in
/// the order of back-propagation, at least one.
Program parameter_server(const model::Graph& graph, const ModelCost& cost, const std::vector<LayerExchange>& exchanges,
                         const ParameterServer& options);

}  // namespace lockstep::sim::schedule
