#pragma once
// Inside sim/replica: selects the layers that the backward pass recomputes (ParallelSpec::recompute).
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/scenario/parallel_spec.hpp"
#include "sim/split/stages.hpp"

namespace lockstep::sim::replica {

/// True if the layer is a multiplication by weights.
bool has_matrix(const model::Layer& layer);

/// Returns, for each layer of the block, the share of its forward pass that the backward pass repeats, 0 to 1.
/// `selective`: all of the layers that belong to a recomputed part. `alternate_matrices`: half of the matrices and all
/// other layers, without the attention. `full`: all. The non-linearity of experts is inside their layer, which does not
/// count as repeated for it. `hidden`: width of the residual stream.
std::vector<double> repeated_shares(const model::Graph& graph, const Block& block, const ParallelSpec& spec,
                                    int hidden);

}  // namespace lockstep::sim::replica
