#pragma once
// Computes the times of compute work in a scenario, layer by layer.
#include "sim/cost/layer_cost.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::program {

/// Describes a GPU with the scenario's precision and efficiencies for the cost model.
DeviceCost describe_device(const ComputeSpec& compute, const GpuSpec& gpu);
DeviceCost describe_device(const Scenario& scenario);
/// Returns the costs of the layers of the scenario's model at a batch, by the roofline alone.
ModelCost roofline_cost(const Scenario& scenario, int batch_per_gpu);
/// Returns these costs, scaled to the scenario's rates or by its time factor, with recomputation in the backward pass.
ModelCost model_cost(const Scenario& scenario, int batch_per_gpu);
/// Returns how many times longer compute work takes during a collective: as the scenario gives it, or else as measured
/// in its profile.
OverlapSlowdown overlap_slowdown(const Scenario& scenario);

}  // namespace lockstep::sim::program
