// fast equals message to 0.1 % wherever fast answers, per rank, with jitter; analytic is within its documented error.
#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/point/point.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

std::vector<double> random_arrivals(int ranks, std::uint64_t seed, double spread_s) {
  std::vector<double> arrivals;
  for (int rank = 0; rank < ranks; ++rank)
    arrivals.push_back(spread_s * random_uniform(seed, 5, static_cast<std::uint64_t>(rank)));
  return arrivals;
}

// {1 if max-plus answered, its times..., then the times by messages...}
std::vector<double> both(const ClusterSpec& spec, const Plan& plan, const std::vector<double>& arrivals,
                         double reduction_rate) {
  return in_child([&] {
    Cluster cluster(spec, plan.ranks);
    cluster.set_message_overhead({5e-6, 7e-6});
    std::vector<double> fast = arrivals;
    std::vector<double> result{plan_by_max_plus(plan, cluster, fast, reduction_rate) ? 1.0 : 0.0};
    result.insert(result.end(), fast.begin(), fast.end());
    const std::vector<double> messages = plan_by_messages(plan, cluster, arrivals, reduction_rate);
    result.insert(result.end(), messages.begin(), messages.end());
    return result;
  });
}

// True when max-plus answered; then it must agree rank by rank.
bool fast_agrees(const ClusterSpec& spec, const Plan& plan, const std::vector<double>& arrivals,
                 double reduction_rate = 0) {
  const std::vector<double> result = both(spec, plan, arrivals, reduction_rate);
  const std::size_t n = static_cast<std::size_t>(plan.ranks);
  if (result[0] == 0) return false;
  for (std::size_t rank = 0; rank < n; ++rank) {
    INFO(plan.algorithm << " over " << n << " on " << spec.name << ", rank " << rank);
    REQUIRE(result[1 + rank] == Approx(result[1 + n + rank]).epsilon(1e-6));
  }
  return true;
}

}  // namespace

TEST_CASE("max-plus equals messages on rings and hierarchies, 8 to 256 GPUs, arrivals together and apart") {
  for (int gpus : {8, 16, 32, 64, 128, 256}) {
    for (double spread_s : {0.0, 2e-3}) {
      if (spread_s == 0 && gpus > 64) continue;  // messages of many GPUs take seconds
      const std::vector<double> arrivals = random_arrivals(gpus, static_cast<std::uint64_t>(gpus), spread_s);
      for (const ClusterSpec& spec : {tests::pcie_cluster(32, 8), tests::nvswitch_cluster(32, 8)}) {
        CHECK(fast_agrees(spec, ring_all_reduce(gpus, 1'000'000), arrivals));
        CHECK(fast_agrees(spec, reduce_scatter(gpus, 5'000'000), arrivals));
        CHECK(fast_agrees(spec, all_gather(gpus, 5'000'000), arrivals));
        for (int k : {4, 8, 16}) CHECK(fast_agrees(spec, hierarchical_all_reduce(gpus, k, 3'000'000), arrivals, 5e9));
      }
    }
  }
}

TEST_CASE("max-plus equals messages on halving-doubling and torus, 8 to 256 GPUs, where every GPU has its own NIC") {
  for (int gpus : {8, 16, 32, 64, 128, 256}) {
    const ClusterSpec spec = tests::nvswitch_cluster(256, 1);
    const std::vector<double> arrivals = random_arrivals(gpus, static_cast<std::uint64_t>(gpus), 1e-3);
    CHECK(fast_agrees(spec, halving_doubling_all_reduce(gpus, 3'000'000), arrivals));
    CHECK(fast_agrees(spec, torus_all_reduce(gpus, 4, 3'000'000), arrivals, 5e9));
  }
}

TEST_CASE("where flows share a link max-plus declines instead of guessing") {
  // Halving-doubling between nodes: all GPUs of a node use its one NIC at once.
  const std::vector<double> together(32, 0.0);
  CHECK_FALSE(fast_agrees(tests::pcie_cluster(4, 8), halving_doubling_all_reduce(32, 1 << 20), together));
  CHECK_FALSE(fast_agrees(tests::pcie_cluster(4, 8), torus_all_reduce(32, 8, 1 << 20), together));
  // With a NIC per GPU they share nothing, and the answer is exact.
  CHECK(fast_agrees(tests::nvswitch_cluster(32, 1), halving_doubling_all_reduce(32, 1 << 20), together));
  CHECK(fast_agrees(tests::nvswitch_cluster(32, 1), torus_all_reduce(32, 8, 1 << 20), random_arrivals(32, 3, 1e-3)));
}

TEST_CASE("two messages of a pair in one round share their route: double binary trees over two ranks, by hand") {
  // Each rank is the other's parent in one of the trees. Each half has m slices of S/2m. In the first round one slice
  // goes up in each direction; in the next m - 1 rounds two slices, one up and one down; in the last one slice down.
  // With bandwidth B that takes (m + 1) alpha + (1 + 2 (m - 1) + 1) S/2m/B = (m + 1) alpha + S/B.
  const ClusterSpec spec = tests::nvswitch_cluster(2, 1);
  for (int slices : {1, 2, 8}) {
    const Plan plan = double_binary_tree_all_reduce(2, slices, 12'500'000);
    const std::vector<double> together{0, 0};
    CHECK(fast_agrees(spec, plan, together) == (slices == 1));
    const std::vector<double> times = in_child([&] {
      Cluster cluster(spec, 2);
      return std::vector<double>{plan_by_messages(plan, cluster, together)[0], cluster.message_latency_s(0, 1),
                                 analytic_plan_s(plan, cluster)};
    });
    CHECK(times[0] == Approx((slices + 1) * times[1] + 1e-3).epsilon(1e-6));
    CHECK(times[2] == Approx(times[0]).epsilon(1e-6));
  }
}

TEST_CASE("property: random plans on random clusters, fast is exact or declines") {
  int answered = 0;
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    const auto draw = [&](std::uint64_t index, int low, int high) {
      return low + static_cast<int>(random_uniform(11, trial, index) * (high - low + 1));
    };
    const int per_node = 1 << draw(0, 0, 3), nodes = draw(1, 2, 8), gpus = per_node * nodes;
    ClusterSpec spec = per_node >= 2 && draw(2, 0, 1) ? tests::pcie_cluster(nodes, per_node)
                                                      : tests::nvswitch_cluster(nodes, per_node);
    spec.nic.link.bandwidth_bytes_per_s = 1e9 * draw(3, 1, 50);
    spec.nic.link.latency_s = 1e-6 * draw(4, 0, 30);
    spec.fabric.link = {1e9 * draw(5, 10, 100), 1e-6 * draw(6, 0, 5)};
    const std::int64_t bytes = 1 + static_cast<std::int64_t>(std::pow(10, 8 * random_uniform(11, trial, 7)));
    const std::vector<Plan> plans{ring_all_reduce(gpus, bytes), hierarchical_all_reduce(gpus, draw(8, 1, gpus), bytes),
                                  halving_doubling_all_reduce(gpus, bytes),
                                  double_binary_tree_all_reduce(gpus, draw(9, 1, 8), bytes),
                                  torus_all_reduce(gpus, per_node, bytes)};
    const Plan& plan = plans[static_cast<std::size_t>(draw(10, 0, 4))];
    answered += fast_agrees(spec, plan, random_arrivals(gpus, trial, 1e-3 * draw(12, 0, 2)), draw(13, 0, 1) * 5e9);
  }
  CHECK(answered >= 15);
}

TEST_CASE("the closed form is within 10 % of messages for collectives whose ranks start together") {
  for (const ClusterSpec& spec : {tests::pcie_cluster(8, 8), tests::nvswitch_cluster(8, 8)})
    for (int gpus : {8, 16, 32, 64})
      for (std::int64_t bytes : {std::int64_t{10'000}, std::int64_t{20'000'000}})
        for (const Plan& plan : {ring_all_reduce(gpus, bytes), hierarchical_all_reduce(gpus, 16, bytes),
                                 halving_doubling_all_reduce(gpus, bytes), torus_all_reduce(gpus, 8, bytes)}) {
          const std::vector<double> result = in_child([&] {
            Cluster cluster(spec, gpus);
            cluster.set_message_overhead({5e-6, 7e-6});
            const double closed = analytic_plan_s(plan, cluster);
            const std::vector<double> times =
                plan_by_messages(plan, cluster, std::vector<double>(static_cast<std::size_t>(gpus), 0.0));
            return std::vector<double>{closed, *std::max_element(times.begin(), times.end())};
          });
          INFO(plan.algorithm << " of " << bytes << " B over " << gpus << " on " << spec.name);
          CHECK(result[0] == Approx(result[1]).epsilon(0.1));
        }
}
