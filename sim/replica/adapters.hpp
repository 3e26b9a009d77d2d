#pragma once
// Adapters beside frozen weights (LoRA: Hu et al. 2021), as layers of a rank's network.
//
// Beside the attention's matrices, queries', keys' and values' as one and the output's (split/transformer_shape.hpp), stand
// three layers each of an input of x features and an output of y:
//   a matrix x -> r;  a matrix r -> y;  a sum with what the frozen matrix gives
// By their FLOP they are nothing, 0.4 % of a matrix of 8,192 features at rank 16; each of their passes over x and y takes
// its bytes and a launch. A scale and a dropout, which some software has besides, are not counted.

#include "engine/model/graph.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::replica {

/// `graph` has blocks of attention and linear layers (sim/split/stages.hpp); what it has keeps its order. rank >= 1.
model::Graph with_adapters(const model::Graph& graph, int rank);
/// Whether the layer is one of an adapter.
bool is_of_adapter(const model::Layer& layer);

}  // namespace lockstep::sim::replica
