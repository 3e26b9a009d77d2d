#pragma once
// Divides an iteration's compute time among groups of layers.
#include <optional>
#include <vector>

#include "sim/plan/task.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::plan {

/// Groups consecutive layers by the beginning of their names ("s3" for "s3b1/1x1a" of stage 3). If there are more than
/// twelve groups, divides the layers into groups with equal shares of the compute time.
///
/// Times are those of the cost model, scaled so that their sum is `compute_s`. `update_s`, if known, is the part of it
/// that the update takes, and is divided by parameters. Gradients are in bytes on the wire.
std::vector<LayerGroup> layer_groups(const Scenario& scenario, int batch_per_gpu, double compute_s,
                                     std::optional<double> update_s = std::nullopt);

}  // namespace lockstep::sim::plan
