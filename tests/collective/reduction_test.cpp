// Checks that all-reduces reduce: messages must bring every rank's data to every rank that has the result.
#include <set>

#include "sim/collective/collectives.hpp"
#include "sim/collective/groups.hpp"
#include "tests/catch.hpp"

using namespace lockstep::sim;

namespace {

// Follows data through the messages: in a round, receivers get what their senders had when they entered it.
std::vector<std::set<int>> knowledge_after(const Plan& plan) {
  std::vector<std::set<int>> known(static_cast<std::size_t>(plan.ranks));
  for (int rank = 0; rank < plan.ranks; ++rank) known[static_cast<std::size_t>(rank)] = {rank};
  for (const Phase& phase : plan.phases)
    for (int round = 0; round < phase.rounds; ++round) {
      const std::vector<std::set<int>> before = known;
      for (const Transfer& t : phase.transfers) {
        const std::set<int>& news = before[static_cast<std::size_t>(t.src)];
        known[static_cast<std::size_t>(t.dst)].insert(news.begin(), news.end());
      }
    }
  return known;
}

}  // namespace

TEST_CASE("after an all-reduce every rank knows of every rank") {
  for (int n : {2, 3, 5, 6, 8, 12, 16, 24, 33}) {
    std::vector<Plan> plans{ring_all_reduce(n, 10000), hierarchical_all_reduce(n, 4, 10000),
                            halving_doubling_all_reduce(n, 10000), double_binary_tree_all_reduce(n, 3, 10000),
                            tree_all_reduce(n, 10000)};
    if (n % 3 == 0) plans.push_back(torus_all_reduce(n, 3, 10000));
    for (const Plan& plan : plans)
      for (const std::set<int>& known : knowledge_after(plan)) {
        INFO(plan.algorithm << " over " << n);
        REQUIRE(static_cast<int>(known.size()) == n);
      }
  }
}

TEST_CASE("in every group: the plan of one group, at other ranks") {
  for (int n : {2, 3, 4, 8})
    for (int groups : {1, 2, 5}) {
      const Plan one = double_binary_tree_all_reduce(n, 3, 10000), all = in_every_group(one, groups);
      INFO(n << " ranks in each of " << groups << " groups");
      CHECK(all.ranks == n * groups);
      CHECK(all.messages() == groups * one.messages());
      const std::vector<std::set<int>> known = knowledge_after(all), of_one = knowledge_after(one);
      for (int rank = 0; rank < all.ranks; ++rank) {
        std::set<int> expected;
        for (int other : of_one[static_cast<std::size_t>(rank % n)]) expected.insert(rank / n * n + other);
        REQUIRE(known[static_cast<std::size_t>(rank)] == expected);
      }
    }
}

TEST_CASE(
    "the average between groups and a gather: every rank has a part from every group; 2 (g-1)/g of a part crosses") {
  for (int group : {1, 2, 4, 6})
    for (int groups : {1, 2, 3, 5}) {
      constexpr std::int64_t kBytes = 3600 * 60;
      const int ranks = group * groups;
      Plan plan = average_between_groups(ranks, group, kBytes);
      for (const Phase& phase : in_every_group(all_gather(group, kBytes), groups).phases)
        plan.phases.edit().push_back(phase);
      INFO(groups << " groups of " << group);
      const std::vector<std::set<int>> known = knowledge_after(plan);
      for (int rank = 0; rank < ranks; ++rank)
        REQUIRE(static_cast<int>(known[static_cast<std::size_t>(rank)].size()) == ranks);
      std::int64_t crossing = 0, inside = 0;
      for (const Phase& phase : plan.phases)
        for (const Transfer& t : phase.transfers)
          (t.src / group == t.dst / group ? inside : crossing) += phase.rounds * t.bytes;
      CHECK(crossing == 2 * (groups - 1) * kBytes);
      CHECK(inside == static_cast<std::int64_t>(groups) * (group - 1) * kBytes);
    }
}
