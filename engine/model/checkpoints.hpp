#pragma once
// Activation checkpointing (Chen et al. 2016, arXiv:1604.06174): of each block only what enters it and what later layers read is
// kept; the backward pass computes the rest again before it passes the block.
//
// Blocks are runs of consecutive layers whose names begin alike: up to the last component that is a number ("down2/1/text/1"),
// else up to the first that ends in a digit ("l1", "s2b3"). Layers without such a name are in no block.
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// The block of each layer, counted from 0; -1: in none.
std::vector<int> checkpointed_blocks(const Graph& graph);

}  // namespace lockstep::model
