#pragma once
// Selects points by time and cost: the Pareto frontier, points that may still belong to it, and those that answer an
// objective. It needs only numbers, no simulation.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// Cost of a point without a price while others have one. Such a point never beats another in cost.
constexpr double kUnknownCost = std::numeric_limits<double>::infinity();

/// A point's time and cost. If no point has a price, every cost is 0.
struct Choice {
  double time_s = 0;
  double time_s_high = 0;
  double cost = 0;
  double cost_high = 0;
  bool is_refined = false;
};

/// Returns the indices of points that no other point dominates, in order of time. A point dominates with less time at
/// no more cost, or with less cost in no more time. It keeps the first of points that are equal in both.
std::vector<std::size_t> pareto_frontier(const std::vector<Choice>& points);

/// Returns the relative error of a point's time (and so of its cost) that would put it on the frontier. It is the least
/// e for which no point of the frontier dominates ((1 - e) time, (1 - e) cost). It is 0 on the frontier.
double distance_to_frontier(const Choice& point, const std::vector<Choice>& frontier);

/// Returns unrefined points off the frontier whose distance is below `error`, nearest first; ties by index.
std::vector<std::size_t> neighbours(const std::vector<Choice>& points, double error);

bool meets(const Objective& objective, const Choice& point);

/// True if `a` serves the objective better than `b`: by its quantity, then by the other one.
bool is_better(const Objective& objective, const Choice& a, const Choice& b);

/// Returns the best point that meets the objective and for which `is_candidate` returns true. Among equally good points
/// it returns the first.
std::optional<std::size_t> best_feasible(
    const Objective& objective, const std::vector<Choice>& points,
    const std::function<bool(std::size_t)>& is_candidate = [](std::size_t) { return true; });

/// Returns the best point of each group among those that meet the objective. The best group comes first; equally good
/// points are in the order of their indices. `groups`: the group of each point, numbered from 0.
std::vector<std::size_t> best_of_groups(const Objective& objective, const std::vector<Choice>& points,
                                        const std::vector<std::uint32_t>& groups);

/// Returns the point that misses a deadline or budget by the least; none if there are no points.
std::optional<std::size_t> closest(const Objective& objective, const std::vector<Choice>& points);

}  // namespace lockstep::sim::plan
