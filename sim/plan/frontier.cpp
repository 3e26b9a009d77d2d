#include "sim/plan/frontier.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace lockstep::sim::plan {
namespace {

using Key = std::pair<double, double>;

// Returns the quantity that the objective minimises, then the other one.
Key key_of(const Objective& objective, const Choice& point) {
  return objective.wants_least_time() ? Key{point.time_s, point.cost} : Key{point.cost, point.time_s};
}

}  // namespace

std::vector<std::size_t> pareto_frontier(const std::vector<Choice>& points) {
  std::map<double, std::size_t> frontier;  // by time; costs fall
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Choice& point = points[i];
    auto slower = frontier.upper_bound(point.time_s);
    if (slower != frontier.begin()) {
      const auto faster = std::prev(slower);
      if (points[faster->second].cost <= point.cost) continue;
      if (faster->first == point.time_s) slower = faster;
    }
    while (slower != frontier.end() && points[slower->second].cost >= point.cost) slower = frontier.erase(slower);
    frontier.emplace_hint(slower, point.time_s, i);
  }
  std::vector<std::size_t> indices;
  for (const auto& [time_s, i] : frontier) indices.push_back(i);
  return indices;
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
  return key_of(objective, a) < key_of(objective, b);
}

std::optional<std::size_t> best_feasible(const Objective& objective, const std::vector<Choice>& points,
                                         const std::function<bool(std::size_t)>& is_candidate) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (meets(objective, points[i]) && (!best || is_better(objective, points[i], points[*best])) && is_candidate(i))
      best = i;
  return best;
}

std::vector<std::size_t> best_of_groups(const Objective& objective, const std::vector<Choice>& points,
                                        const std::vector<std::uint32_t>& groups) {
  constexpr auto kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> best_of;  // by group
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!meets(objective, points[i])) continue;
    if (groups[i] >= best_of.size()) best_of.resize(groups[i] + std::size_t{1}, kNone);
    std::size_t& best = best_of[groups[i]];
    if (best == kNone || is_better(objective, points[i], points[best])) best = i;
  }
  best_of.erase(std::remove(best_of.begin(), best_of.end(), kNone), best_of.end());
  std::sort(best_of.begin(), best_of.end(), [&](std::size_t a, std::size_t b) {
    return std::make_pair(key_of(objective, points[a]), a) < std::make_pair(key_of(objective, points[b]), b);
  });
  return best_of;
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
