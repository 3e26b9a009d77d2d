#pragma once
// Selects points by time and cost: the Pareto frontier, points that may still belong to it, and the answer to an
// objective. Uses numbers only, without simulation.
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// The cost of a point without a price, if others have one: it never beats another in cost.
constexpr double kUnknownCost = std::numeric_limits<double>::infinity();

/// A point's values for the choice. If no point has a price, every cost is 0.
struct Choice {
  double time_s = 0;
  double time_s_high = 0;
  double cost = 0;
  double cost_high = 0;
  bool is_refined = false;
};

/// Indices of the points that no other point dominates (less time and no more cost, or less cost and no more time), in
/// order of time. If several are equal in both, keeps the first.
std::vector<std::size_t> pareto_frontier(const std::vector<Choice>& points);

/// The relative error of a point's time (and so its cost) that would put it on the frontier. It is the least e for
/// which no point of the frontier dominates ((1 - e) time, (1 - e) cost), so it is 0 on the frontier.
double distance_to_frontier(const Choice& point, const std::vector<Choice>& frontier);

/// Unrefined points off the frontier whose distance is below `error`, nearest first; ties by index.
std::vector<std::size_t> neighbours(const std::vector<Choice>& points, double error);

bool meets(const Objective& objective, const Choice& point);

/// Points that meet the objective, the best first: by the objective's quantity, then by the other, then by index.
std::vector<std::size_t> ranking(const Objective& objective, const std::vector<Choice>& points);

/// The point that misses a deadline or budget by the least; empty without points.
std::optional<std::size_t> closest(const Objective& objective, const std::vector<Choice>& points);

}  // namespace lockstep::sim::plan
