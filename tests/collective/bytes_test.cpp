// Bytes that every algorithm must move on any network: if n divides S, exactly the textbook's bytes per rank.
#include <numeric>

#include "engine/base/random.hpp"
#include "sim/collective/collectives.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

std::int64_t size_for(int trial, std::int64_t multiple) {
  return multiple * (1 + static_cast<std::int64_t>(random_uniform(7, 1, static_cast<std::uint64_t>(trial)) * 5000));
}

int ranks_for(int trial, int least, int most) {
  return least + static_cast<int>(random_uniform(7, 2, static_cast<std::uint64_t>(trial)) * (most - least));
}

void check_every_rank_sends(const Plan& plan, std::int64_t bytes) {
  const std::vector<std::int64_t> sent = plan.bytes_sent_by_rank();
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    INFO(plan.algorithm << " over " << plan.ranks << " ranks, rank " << rank);
    REQUIRE(sent[rank] == bytes);
  }
}

void check_transfers_are_sane(const Plan& plan) {
  for (const Phase& phase : plan.phases) {
    REQUIRE(phase.rounds >= 1);
    REQUIRE(!phase.transfers.empty());
    for (const Transfer& t : phase.transfers) {
      REQUIRE(t.src != t.dst);
      REQUIRE((t.src >= 0 && t.src < plan.ranks && t.dst >= 0 && t.dst < plan.ranks));
      REQUIRE(t.bytes > 0);
    }
  }
}

int rounds_of(const Plan& plan) {
  int rounds = 0;
  for (const Phase& phase : plan.phases) rounds += phase.rounds;
  return rounds;
}

}  // namespace

TEST_CASE("ring all-reduce: every rank sends 2(n-1)/n S") {
  for (int trial = 0; trial < 30; ++trial) {
    const int n = ranks_for(trial, 2, 300);
    const std::int64_t bytes = size_for(trial, n);
    const Plan plan = ring_all_reduce(n, bytes);
    check_transfers_are_sane(plan);
    check_every_rank_sends(plan, 2 * (n - 1) * bytes / n);
    check_every_rank_sends(reduce_scatter(n, bytes), (n - 1) * bytes / n);
    check_every_rank_sends(all_gather(n, bytes), (n - 1) * bytes / n);
  }
}

TEST_CASE("a size that n does not divide costs less than n bytes a round more") {
  const int n = 7;
  const std::int64_t bytes = 1000003;
  const std::int64_t sent = ring_all_reduce(n, bytes).bytes_sent_by_rank()[0];
  CHECK(sent * n >= 2 * (n - 1) * bytes);
  CHECK(sent * n < 2 * (n - 1) * (bytes + n));
}

TEST_CASE("hierarchical all-reduce: members send S, masters the ring's share and S") {
  for (int trial = 0; trial < 30; ++trial) {
    const int k = 2 + trial % 15;
    const int groups = ranks_for(trial, 2, 20);
    const int n = k * groups;
    const std::int64_t bytes = size_for(trial, std::int64_t{k} * groups);
    const Plan plan = hierarchical_all_reduce(n, k, bytes);
    check_transfers_are_sane(plan);
    const std::vector<std::int64_t> sent = plan.bytes_sent_by_rank();
    // In the reduce, every member but the master sends S once; in the broadcast, every member but the last.
    const std::int64_t ring = 2 * (groups - 1) * bytes / groups;
    for (int rank = 0; rank < n; ++rank) {
      const int member = rank % k;
      const std::int64_t expected = (member == 0 ? ring : bytes) + (member == k - 1 ? 0 : bytes);
      REQUIRE(sent[static_cast<std::size_t>(rank)] == expected);
    }
  }
}

TEST_CASE("hierarchical all-reduce takes 4(k-1) + 2(n/k-1) rounds, the paper's count") {
  // 1024 GPUs in groups of 16: 60 + 126 = 186 rounds, where the flat ring takes 2046.
  const Plan plan = hierarchical_all_reduce(1024, 16, 1 << 20);
  CHECK(rounds_of(plan) == 186);
  CHECK(rounds_of(ring_all_reduce(1024, 1 << 20)) == 2046);
}

TEST_CASE("hierarchical all-reduce with a smaller last group and with a single group") {
  const Plan uneven = hierarchical_all_reduce(21, 8, 21 * 8 * 3);
  check_transfers_are_sane(uneven);
  // 21 = 8 + 8 + 5: 18 members and 18 hops of the broadcast send S; three masters send 2 * 2/3 S.
  const std::int64_t bytes = 21 * 8 * 3;
  CHECK(uneven.bytes_sent() == 18 * bytes + 18 * bytes + 3 * (4 * bytes / 3));
  const Plan single = hierarchical_all_reduce(8, 16, 800);
  CHECK(single.bytes_sent() == ring_all_reduce(8, 800).bytes_sent());
}

TEST_CASE("halving-doubling: every rank sends 2(n-1)/n S when n is a power of two") {
  for (int n = 2; n <= 256; n *= 2) {
    const Plan plan = halving_doubling_all_reduce(n, std::int64_t{n} * 1000);
    check_transfers_are_sane(plan);
    check_every_rank_sends(plan, 2 * (n - 1) * 1000);
    int log2 = 0;
    while ((1 << log2) < n) ++log2;
    CHECK(static_cast<int>(plan.phases.size()) == 2 * log2);
  }
}

TEST_CASE("halving-doubling folds the ranks beyond a power of two") {
  // 6 ranks: pairs (1 -> 0), (3 -> 2) fold, the core {0, 2, 4, 5} exchanges S/2 and S/4 twice, then unfolds.
  const Plan plan = halving_doubling_all_reduce(6, 400);
  check_transfers_are_sane(plan);
  const std::vector<std::int64_t> sent = plan.bytes_sent_by_rank();
  CHECK(sent == std::vector<std::int64_t>{600 + 400, 400, 600 + 400, 400, 600, 600});
}

TEST_CASE("double binary tree: 2(n-1)S in all, no rank more than about 2S, every rank reached in both trees") {
  for (int n : {2, 3, 4, 5, 7, 8, 13, 16, 31, 32, 100, 256}) {
    const int slices = 4;
    const std::int64_t bytes = 2 * slices * 1000;
    const Plan plan = double_binary_tree_all_reduce(n, slices, bytes);
    check_transfers_are_sane(plan);
    CHECK(plan.bytes_sent() == 2 * (n - 1) * bytes);
    std::int64_t most = 0;
    for (std::int64_t sent : plan.bytes_sent_by_rank()) most = std::max(most, sent);
    // A leaf of one tree sends S/2 up. An inner node of the other sends S/2 up and S/2 to each of two children.
    CHECK(most <= 2 * bytes);
    std::vector<int> receives(static_cast<std::size_t>(n), 0);
    for (const Phase& phase : plan.phases)
      for (const Transfer& t : phase.transfers) ++receives[static_cast<std::size_t>(t.dst)];
    for (int count : receives) CHECK(count >= slices);
  }
}

TEST_CASE("double binary tree is shallow: its rounds grow with log n") {
  CHECK(double_binary_tree_all_reduce(1024, 1, 1 << 20).phases.size() <= 2 * 11);
}

TEST_CASE("torus: rows, columns, rows") {
  for (int trial = 0; trial < 20; ++trial) {
    const int columns = 2 + trial % 8, rows = ranks_for(trial, 2, 20);
    const std::int64_t bytes = size_for(trial, std::int64_t{columns} * rows);
    const Plan plan = torus_all_reduce(columns * rows, columns, bytes);
    check_transfers_are_sane(plan);
    check_every_rank_sends(plan, 2 * (columns - 1) * bytes / columns + 2 * (rows - 1) * (bytes / columns) / rows);
  }
}

TEST_CASE("one rank has nothing to say") {
  CHECK(ring_all_reduce(1, 100).messages() == 0);
  CHECK(hierarchical_all_reduce(1, 16, 100).messages() == 0);
  CHECK(halving_doubling_all_reduce(1, 100).messages() == 0);
  CHECK(tree_all_reduce(1, 100).messages() == 0);
  CHECK(double_binary_tree_all_reduce(1, 4, 100).messages() == 0);
  CHECK(torus_all_reduce(1, 1, 100).messages() == 0);
}

TEST_CASE("tree: 2(n-1) whole vectors in 2 ceil(log2 n) rounds") {
  for (const auto& [n, levels] : std::vector<std::pair<int, int>>{{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}}) {
    const Plan plan = tree_all_reduce(n, 1000);
    INFO(n << " ranks");
    CHECK(plan.messages() == 2 * (n - 1));
    CHECK(plan.bytes_sent() == 2 * (n - 1) * 1000);
    CHECK(static_cast<int>(plan.phases.size()) == 2 * levels);
  }
}
