#pragma once
// Lists the points of a plan.
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

constexpr std::size_t kMostPoints = 1000000;

/// Throws InputError for more than kMostPoints points.
PlanPoints grid_points(const PlanSpec& plan);

/// Returns the settings of a point, except those that set the number of GPUs.
std::vector<Setting> without_gpus(const std::vector<Setting>& settings);

}  // namespace lockstep::sim::plan
