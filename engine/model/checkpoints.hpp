#pragma once
// Activation checkpointing (Chen et al. 2016, arXiv:1604.06174). A block keeps only its inputs and the values that
// later layers read. The backward pass recomputes the rest before it enters the block.
//
// A block is a run of consecutive layers whose names have the same prefix. The prefix ends at the last component that
// is a number ("down2/1/text/1"), else at the first component that ends in a digit ("l1", "s2b3"). Layers without such
// a name belong to no block.
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

/// The block of each layer, counted from 0; -1: none.
std::vector<int> checkpointed_blocks(const Graph& graph);

}  // namespace lockstep::model
