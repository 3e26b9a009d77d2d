#pragma once
// An iteration's compute time by groups of layers.
#include <optional>
#include <vector>

#include "sim/plan/task.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::plan {

/// Groups of consecutive layers by what their names begin with ("s3b1/1x1a" of stage 3: "s3"), at most twelve: where
/// there are more, by equal shares of the compute time. Times are those of the cost model scaled so that all together
/// last `compute_s`, of which the update has `update_s` where that is known; it is shared by parameters. Gradients count in
/// bytes on the wire.
std::vector<LayerGroup> layer_groups(const Scenario& scenario, int batch_per_gpu, double compute_s,
                                     std::optional<double> update_s = std::nullopt);

}  // namespace lockstep::sim::plan
