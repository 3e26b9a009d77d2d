#pragma once
// Synchronous SGD without all-reduces of all gradients: each layer has an exchange of its own, such as a parameter
// server, sufficient factors, or another of sim/collective/. As in Poseidon (Zhang et al. 2017, Algorithm 2), wait-free
// back-propagation starts a layer's exchange as soon as its gradient exists. The exchange overlaps with those of other
// layers and with computation. Without overlap, all exchanges start after the backward pass.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/layer_cost.hpp"
#include "sim/schedule/passes.hpp"

namespace lockstep::sim::schedule {

/// The steps, in order, that synchronise a layer's gradient or a part of it. Steps of 0 s and plans without phases are
/// skipped.
struct LayerExchange {
  int layer = 0;  ///< index in Graph::layers
  std::string name;
  double encode_s = 0;     ///< on the GPU, before the push: quantisation
  double to_host_s = 0;    ///< staging copy to host memory
  Plan push;               ///< gradients or factors to the ranks that sum them
  double server_s = 0;     ///< of the busiest server, between push and pull; parts run one after the other
  Plan pull;               ///< parameters back
  double to_device_s = 0;  ///< staging copy to the GPU
  double decode_s = 0;     ///< on the GPU, after the pull: multiplies factors, expands bits
};

/// The options of the schedule. Its Loading must not block.
struct ParameterServer : Loading {
  int gpus = 1;  ///< number of ranks, including those that only serve
  int iterations = 1;
  bool overlap = true;   ///< wait-free back-propagation; false: exchanges start after the backward pass
  double launch_s = 0;   ///< launch time before the first message of every push
  int streams = 1;       ///< concurrent pushes, and concurrent pulls; exchange i uses stream i mod `streams` of each
  bool barrier = false;  ///< the next forward pass waits for all layers; false: each layer waits for its own parameters
  bool staging_blocks = false;  ///< staging copies block computing and, without overlap, everything else
};

/// The streams of every GPU are "input", "copy", "compute", "to host", "to device", "server", "synchronised", "push 0",
/// ... and "pull 0", ... Pulls have streams of their own, so that they overlap the next pushes. `exchanges`: at least
/// one, in the order of back-propagation.
Program parameter_server(const model::Graph& graph, const ModelCost& cost, const std::vector<LayerExchange>& exchanges,
                         const ParameterServer& options);

}  // namespace lockstep::sim::schedule
