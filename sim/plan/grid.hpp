#pragma once
// The points of a plan: every combination of the axes' values (the last axis varies fastest), then the listed points.
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

constexpr std::size_t kMostPoints = 1000000;

/// Throws InputError for more than kMostPoints.
std::vector<PlanPoint> grid_points(const PlanSpec& plan);

/// The settings of a point except those that set the number of GPUs.
std::vector<Setting> without_gpus(const std::vector<Setting>& settings);

/// A text that identifies the scaling curve. Points that differ only in the number of GPUs have the same.
std::string curve_key(const PlanPoint& point);

}  // namespace lockstep::sim::plan
