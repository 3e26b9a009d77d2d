#include "sim/plan/frontier.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace lockstep::sim::plan {
namespace {

std::vector<std::size_t> all_indices(const std::vector<Choice>& points) {
  std::vector<std::size_t> indices(points.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

// Returns those of `order` that are on its frontier, in ascending order of time.
std::vector<std::size_t> find_frontier(const std::vector<Choice>& points, std::vector<std::size_t> order) {
  std::vector<std::size_t> frontier;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(points[a].time_s, points[a].cost, a) < std::tie(points[b].time_s, points[b].cost, b);
  });
  double cheapest = std::numeric_limits<double>::infinity();
  for (std::size_t i : order) {
    if (!frontier.empty() && points[i].cost >= cheapest) continue;
    cheapest = points[i].cost;
    frontier.push_back(i);
  }
  return frontier;
}

constexpr std::size_t kManyPoints = 10000;  // sorting fewer takes no time
constexpr std::size_t kSampled = 1000;

// Returns the points that may be on the frontier, usually few. It leaves out a point if a sampled point is faster and
// costs no more.
std::vector<std::size_t> find_candidates(const std::vector<Choice>& points) {
  std::vector<std::size_t> sample, left;
  for (std::size_t i = 0; i < points.size(); i += points.size() / kSampled) sample.push_back(i);
  sample = find_frontier(points, std::move(sample));  // costs fall with time
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto slower = std::lower_bound(sample.begin(), sample.end(), points[i].time_s,
                                         [&](std::size_t s, double time_s) { return points[s].time_s < time_s; });
    if (slower == sample.begin() || points[*(slower - 1)].cost > points[i].cost) left.push_back(i);
  }
  return left;
}

}  // namespace

std::vector<std::size_t> pareto_frontier(const std::vector<Choice>& points) {
  return find_frontier(points, points.size() < kManyPoints ? all_indices(points) : find_candidates(points));
}

double distance_to_frontier(const Choice& point, const std::vector<Choice>& frontier) {
  double distance = 0;
  for (const Choice& other : frontier) {
    const double in_time = 1 - other.time_s / point.time_s;
    const double in_cost = point.cost > 0 ? 1 - other.cost / point.cost : 0;
    // Without costs, only the time counts.
    distance = std::max(distance, point.cost > 0 ? std::min(in_time, in_cost) : in_time);
  }
  return distance;
}

std::vector<std::size_t> neighbours(const std::vector<Choice>& points, double error) {
  const std::vector<std::size_t> on_frontier = pareto_frontier(points);
  std::vector<Choice> frontier;
  std::vector<bool> is_on(points.size(), false);
  for (std::size_t i : on_frontier) {
    frontier.push_back(points[i]);
    is_on[i] = true;
  }
  std::vector<std::pair<double, std::size_t>> near;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].is_refined || is_on[i]) continue;
    const double distance = distance_to_frontier(points[i], frontier);
    if (distance < error) near.emplace_back(distance, i);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::size_t> indices;
  for (const auto& [distance, i] : near) indices.push_back(i);
  return indices;
}

bool meets(const Objective& objective, const Choice& point) {
  if (objective.kind == ObjectiveKind::least_cost_by_deadline)
    return (objective.is_cautious ? point.time_s_high : point.time_s) <= objective.deadline_s;
  if (objective.kind == ObjectiveKind::least_time_in_budget)
    return (objective.is_cautious ? point.cost_high : point.cost) <= objective.budget;
  return true;
}

bool is_better(const Objective& objective, const Choice& a, const Choice& b) {
  return objective.wants_least_time() ? std::tie(a.time_s, a.cost) < std::tie(b.time_s, b.cost)
                                      : std::tie(a.cost, a.time_s) < std::tie(b.cost, b.time_s);
}

std::vector<std::size_t> rank_feasible(const Objective& objective, const std::vector<Choice>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i : all_indices(points))
    if (meets(objective, points[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return is_better(objective, points[a], points[b]); });
  return order;
}

std::optional<std::size_t> closest(const Objective& objective, const std::vector<Choice>& points) {
  const bool over_budget = objective.kind == ObjectiveKind::least_time_in_budget;
  const auto missed_by = [&](const Choice& p) {
    if (over_budget) return objective.is_cautious ? p.cost_high : p.cost;
    return objective.is_cautious ? p.time_s_high : p.time_s;
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (!best || missed_by(points[i]) < missed_by(points[*best])) best = i;
  return best;
}

}  // namespace lockstep::sim::plan
