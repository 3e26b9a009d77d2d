#pragma once
// Synchronous SGD without all-reduces of all gradients: each layer has an exchange of its own, such as a parameter
// server, sufficient factors, or another of sim/collective/. As in Poseidon (Zhang et al. 2017, Algorithm 2), wait-free
// back-propagation starts a layer's exchange as soon as its gradient exists. The exchange overlaps those of other
// layers and computing. Without overlap all exchanges start after the backward pass.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/schedule/passes.hpp"

namespace lockstep::sim::schedule {

/// The steps that synchronise a layer's gradient, or a piece of it, in their order. A step of 0 s, or a plan without
/// phases, is left out.
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

/// The streams of every GPU are "input", "copy", "compute", "to host", "to device", "server", "synchronised", "push 0",
/// ... and "pull 0", ... Pulls have streams of their own, so that they overlap the next pushes. `exchanges`: at least
/// one, in the order of back-propagation.
Program parameter_server(const model::Graph& graph, const ModelCost& cost, const std::vector<LayerExchange>& exchanges,
                         const ParameterServer& options);

}  // namespace lockstep::sim::schedule
