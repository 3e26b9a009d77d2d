// Checks that all-reduces reduce: messages must bring every rank's data to every rank that has the result.
#include <set>

#include "sim/collective/collectives.hpp"
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
