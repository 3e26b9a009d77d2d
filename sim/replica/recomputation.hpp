#pragma once
// Inside sim/replica: what the backward pass computes again (ParallelSpec::recompute).
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/scenario/parallel_spec.hpp"
#include "sim/split/stages.hpp"

namespace lockstep::sim::replica {

/// The layer multiplies by weights.
bool has_matrix(const model::Layer& layer);

/// Of the forward pass of each layer of the block, the share that the backward pass repeats, 0 to 1: `selective` all of the
/// layers that belong to a part that is recomputed; `alternate_matrices` half of the matrices and all of the rest but the
/// attention; `full` all. `hidden`: width of the residual stream. The non-linearity of experts is inside their layer, which
/// does not count as repeated for it.
std::vector<double> repeated_shares(const model::Graph& graph, const Block& block, const ParallelSpec& spec,
                                    int hidden);

}  // namespace lockstep::sim::replica
