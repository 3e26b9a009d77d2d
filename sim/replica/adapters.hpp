#pragma once
// Adapters for frozen weights (LoRA: Hu et al. 2021), as layers of a rank's network.
//
// The attention has two frozen matrices (split/transformer_shape.hpp): one for queries, keys and values, one for the
// output. A dense network has two, too; a gate counts as part of the first one. A matrix of x inputs and y outputs gets
// three layers: a matrix x -> r, a matrix r -> y, and a sum with the output of the frozen matrix. Their FLOP are
// negligible: 0.4 % of a matrix of 8,192 features at rank 16. Each of their passes over x and y takes the time of its
// bytes and a launch. Some software also has a scale and a dropout, which are not counted.

#include "engine/model/graph.hpp"
#include "sim/modules.hpp"
#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::replica {

/// `graph` must have blocks of attention and linear layers (sim/split/stages.hpp); its layers keep their order. rank >=
/// 1.
model::Graph with_adapters(const model::Graph& graph, int rank, LoraTarget target);
/// True if the layer belongs to an adapter.
bool is_of_adapter(const model::Layer& layer);

}  // namespace lockstep::sim::replica
