#pragma once
// Lists the points of a plan: all combinations of the axes' values (the last axis varies fastest), then listed points.
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

constexpr std::size_t kMostPoints = 1000000;

/// Throws InputError for more than kMostPoints points.
std::vector<PlanPoint> grid_points(const PlanSpec& plan);

/// Returns the settings of a point, except those that set the number of GPUs.
std::vector<Setting> without_gpus(const std::vector<Setting>& settings);

/// Returns a text that identifies a scaling curve. Points that differ only in the number of GPUs have the same text.
std::string curve_key(const PlanPoint& point);

}  // namespace lockstep::sim::plan
