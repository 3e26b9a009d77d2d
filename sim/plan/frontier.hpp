#pragma once
// Which points matter: the Pareto frontier of time and cost, what may still belong to it, and the answer to an
// objective. Plain numbers, no simulation.
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// Of a point without a price beside others that have one: nothing is beaten by it in cost.
constexpr double kUnknownCost = std::numeric_limits<double>::infinity();

/// A point as the choice sees it. Without prices every cost is 0.
struct Choice {
  double time_s = 0;
  double time_s_high = 0;
  double cost = 0;
  double cost_high = 0;
  bool is_refined = false;
};

/// Indices of the points that no other beats: none has less time and no more cost, or less cost and no more time; of
/// points alike in both, the first. Ascending time.
std::vector<std::size_t> pareto_frontier(const std::vector<Choice>& points);

/// How far off a point's time (and with it its cost) must be for it to belong to the frontier: the least e such that
/// ((1 - e) time, (1 - e) cost) is beaten by none of the frontier; 0 on the frontier.
double distance_to_frontier(const Choice& point, const std::vector<Choice>& frontier);

/// Points off the frontier and not refined whose distance is below `error`, nearest first; alike ones by index.
std::vector<std::size_t> neighbours(const std::vector<Choice>& points, double error);

bool meets(const Objective& objective, const Choice& point);

/// Points that meet the objective, the best first: by cost or time as it asks, then by the other, then by index.
std::vector<std::size_t> ranking(const Objective& objective, const std::vector<Choice>& points);

/// The point that misses a deadline or budget by least; empty without points.
std::optional<std::size_t> closest(const Objective& objective, const std::vector<Choice>& points);

}  // namespace lockstep::sim::plan
