// Compares the choice among points with its definition, by brute force on random points.
#include "sim/plan/frontier.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using sim::Choice;
using sim::Objective;
using sim::ObjectiveKind;

// Draws values on a coarse grid, so that many points have equal time, equal cost, or both.
std::vector<Choice> random_points(std::uint64_t seed, std::size_t count) {
  std::vector<Choice> points;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double time_s = std::ceil(20 * random_uniform(seed, 1, i)), cost = std::ceil(20 * random_uniform(seed, 2, i));
    points.push_back({time_s, time_s * 1.2, cost, cost * 1.3, random_uniform(seed, 3, i) < 0.3});
  }
  return points;
}

bool beats(const Choice& a, const Choice& b) {
  return a.time_s <= b.time_s && a.cost <= b.cost && (a.time_s < b.time_s || a.cost < b.cost);
}

bool is_alike(const Choice& a, const Choice& b) {
  return a.time_s == b.time_s && a.cost == b.cost;
}

}  // namespace

TEST_CASE("the frontier is what no point beats, and of alike points the first") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::vector<Choice> points = random_points(seed, 1 + seed % 60);
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool is_beaten = false;
      for (std::size_t j = 0; j < points.size(); ++j)
        is_beaten = is_beaten || beats(points[j], points[i]) || (j < i && is_alike(points[j], points[i]));
      if (!is_beaten) expected.push_back(i);
    }
    std::sort(expected.begin(), expected.end(),
              [&](std::size_t a, std::size_t b) { return points[a].time_s < points[b].time_s; });
    CHECK(sim::pareto_frontier(points) == expected);
  }
  CHECK(sim::pareto_frontier({}).empty());
}

TEST_CASE("law: each of very many points is on the frontier, or a point of the frontier beats it") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::vector<Choice> points = random_points(seed, 9999 + 4000 * seed);
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i].cost = i % seed == 1 ? sim::kUnknownCost : points[i].cost + std::ceil(400 / points[i].time_s);
    const std::vector<std::size_t> all = sim::pareto_frontier(points);
    REQUIRE(all.size() > 5);
    for (std::size_t f = 1; f < all.size(); ++f) CHECK(points[all[f - 1]].time_s < points[all[f]].time_s);
    for (std::size_t f = 1; f < all.size(); ++f) CHECK(points[all[f - 1]].cost > points[all[f]].cost);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_beaten = std::any_of(all.begin(), all.end(), [&](std::size_t f) {
        return f == i || beats(points[f], points[i]) || (f < i && is_alike(points[f], points[i]));
      });
      CHECK(is_beaten);
    }
  }
}

TEST_CASE("without costs the frontier is the fastest point alone") {
  std::vector<Choice> points = random_points(7, 40);
  for (Choice& p : points) p.cost = 0;
  const auto fastest = std::min_element(points.begin(), points.end(),
                                        [](const Choice& a, const Choice& b) { return a.time_s < b.time_s; });
  CHECK(sim::pareto_frontier(points) == std::vector<std::size_t>{static_cast<std::size_t>(fastest - points.begin())});
}

TEST_CASE("a point of unknown cost is on the frontier where it is the fastest, and beats none in cost") {
  const Choice fast{1, 1, 5, 5, false}, slow{2, 2, 3, 3, false};
  Choice unknown{1.5, 1.5, sim::kUnknownCost, sim::kUnknownCost, false};
  CHECK(sim::pareto_frontier({fast, slow, unknown}) == std::vector<std::size_t>{0, 1});
  CHECK(sim::distance_to_frontier(unknown, {fast, slow}) == Approx(1 - 1 / 1.5));  // by its time only
  unknown.time_s = 0.5;
  CHECK(sim::pareto_frontier({fast, slow, unknown}) == std::vector<std::size_t>{2, 0, 1});
  CHECK(sim::pareto_frontier({unknown, unknown}) == std::vector<std::size_t>{0});
}

TEST_CASE("a point's distance is the error at which it would join the frontier, and not before") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::vector<Choice> points = random_points(seed, 30);
    std::vector<Choice> frontier;
    for (std::size_t i : sim::pareto_frontier(points)) frontier.push_back(points[i]);
    for (const Choice& p : points) {
      const double distance = sim::distance_to_frontier(p, frontier);
      CHECK(distance >= 0);
      CHECK(distance < 1);
      const auto moved = [&](double e) {
        Choice q = p;
        q.time_s *= 1 - e;
        q.cost *= 1 - e;
        return std::none_of(frontier.begin(), frontier.end(), [&](const Choice& f) { return beats(f, q); });
      };
      CHECK(moved(distance + 1e-9));
      if (distance > 0) CHECK(!moved(distance - 1e-9));
    }
  }
}

TEST_CASE("neighbours are the unrefined points nearer than the error, nearest first") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::vector<Choice> points = random_points(seed, 50);
    const std::vector<std::size_t> on = sim::pareto_frontier(points), near = sim::neighbours(points, 0.3);
    std::vector<Choice> frontier;
    for (std::size_t i : on) frontier.push_back(points[i]);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool expected = !points[i].is_refined && std::find(on.begin(), on.end(), i) == on.end() &&
                            sim::distance_to_frontier(points[i], frontier) < 0.3;
      CHECK((std::find(near.begin(), near.end(), i) != near.end()) == expected);
    }
    for (std::size_t i = 1; i < near.size(); ++i)
      CHECK(sim::distance_to_frontier(points[near[i - 1]], frontier) <=
            sim::distance_to_frontier(points[near[i]], frontier));
  }
}

TEST_CASE("the best point, and the best of each group, are those that a ranking of all points puts first") {
  const std::vector<Objective> objectives{{ObjectiveKind::least_time, 0, 0, false},
                                          {ObjectiveKind::least_cost, 0, 0, false},
                                          {ObjectiveKind::least_cost_by_deadline, 8, 0, false},
                                          {ObjectiveKind::least_cost_by_deadline, 8, 0, true},
                                          {ObjectiveKind::least_time_in_budget, 0, 8, false},
                                          {ObjectiveKind::least_time_in_budget, 0, 8, true}};
  for (const Objective& objective : objectives) {
    const bool by_time =
        objective.kind == ObjectiveKind::least_time || objective.kind == ObjectiveKind::least_time_in_budget;
    const auto meets = [&](const Choice& p) {
      if (objective.kind == ObjectiveKind::least_cost_by_deadline)
        return (objective.is_cautious ? p.time_s_high : p.time_s) <= 8;
      if (objective.kind == ObjectiveKind::least_time_in_budget)
        return (objective.is_cautious ? p.cost_high : p.cost) <= 8;
      return true;
    };
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const std::vector<Choice> points = random_points(seed, 1 + seed % 40);
      std::vector<std::uint32_t> groups;
      for (std::uint64_t i = 0; i < points.size(); ++i)
        groups.push_back(static_cast<std::uint32_t>(7 * random_uniform(seed, 4, i)));
      std::vector<std::size_t> ranked;
      for (std::size_t i = 0; i < points.size(); ++i)
        if (meets(points[i])) ranked.push_back(i);
      std::sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
        const Choice &p = points[a], &q = points[b];
        return by_time ? std::make_tuple(p.time_s, p.cost, a) < std::make_tuple(q.time_s, q.cost, b)
                       : std::make_tuple(p.cost, p.time_s, a) < std::make_tuple(q.cost, q.time_s, b);
      });
      std::vector<std::size_t> first_of_groups;
      std::set<std::uint32_t> seen;
      for (std::size_t i : ranked)
        if (seen.insert(groups[i]).second) first_of_groups.push_back(i);
      CHECK(sim::best_of_groups(objective, points, groups) == first_of_groups);
      for (std::size_t place = 0; place <= std::min<std::size_t>(2, ranked.size()); ++place) {
        const auto is_behind = [&](std::size_t i) {
          return std::find(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(place), i) ==
                 ranked.begin() + static_cast<std::ptrdiff_t>(place);
        };
        const std::optional<std::size_t> best = sim::best_feasible(objective, points, is_behind);
        CHECK(best.has_value() == (place < ranked.size()));
        if (best) CHECK(*best == ranked[place]);
      }
      // No point beats the cheapest one that meets a deadline: it is on the frontier, or equal to a point that is.
      if (!ranked.empty())
        for (const Choice& p : points) CHECK(!(beats(p, points[ranked[0]]) && sim::meets(objective, p)));
    }
  }
}

TEST_CASE("where nothing meets a deadline the closest is the fastest") {
  const std::vector<Choice> points{{10, 12, 1, 1, true}, {7, 30, 5, 5, true}, {9, 10, 2, 2, true}};
  Objective objective{ObjectiveKind::least_cost_by_deadline, 5, 0, false};
  CHECK(!sim::best_feasible(objective, points));
  CHECK(sim::closest(objective, points) == 1);
  objective.is_cautious = true;
  CHECK(sim::closest(objective, points) == 2);
  CHECK(!sim::closest(objective, {}));
}

}  // namespace lockstep::tests
