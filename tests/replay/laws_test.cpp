// Laws of every replay, then exact values.
#include <algorithm>
#include <cmath>

#include "sim/collective/collectives.hpp"
#include "sim/replay/replay.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

std::vector<double> run_messages(const ClusterSpec& spec, const Plan& plan, double overhead_s) {
  return in_child([&] {
    Cluster cluster(spec, plan.ranks);
    cluster.set_message_overhead({overhead_s, overhead_s});
    return plan_by_messages(plan, cluster, std::vector<double>(static_cast<std::size_t>(plan.ranks), 0.0));
  });
}

double last(const std::vector<double>& times) {
  return *std::max_element(times.begin(), times.end());
}

}  // namespace

TEST_CASE("one message takes overhead + latency + bytes/bandwidth") {
  // GPU 0 -> GPU 1 over NVSwitch: 2 x 1 us of links + 3 us of software + 4 MB at 40 GB/s = 100 us.
  Plan plan{"one", 2, 4'000'000, {{Transfers({{0, 1, 4'000'000}}), 1}}};
  CHECK(last(run_messages(tests::nvswitch_cluster(1, 2), plan, 3e-6)) == Approx(5e-6 + 1e-4).epsilon(1e-9));
}

TEST_CASE("a reducing message is no faster than the receiver can add") {
  // 4 MB at 40 GB/s would take 100 us; added at 8 GB/s they take 500 us, at 80 GB/s still 100 us.
  Plan plan{"one", 2, 4'000'000, {{Transfers({{0, 1, 4'000'000, true}}), 1}}};
  for (double rate : {8e9, 80e9}) {
    const std::vector<double> ends = in_child([&] {
      Cluster cluster(tests::nvswitch_cluster(1, 2), 2);
      return plan_by_messages(plan, cluster, {0, 0}, rate);
    });
    CHECK(last(ends) == Approx(2e-6 + 4e6 / std::min(rate, 40e9)).epsilon(1e-9));
  }
}

TEST_CASE("ring all-reduce takes 2(n-1)(alpha + S/(n beta)) to 0.1 %") {
  for (int n : {2, 8, 16, 64}) {
    const std::int64_t bytes = std::int64_t{n} * 500'000;
    ClusterSpec spec = tests::nvswitch_cluster(n, 1);
    // One GPU per node: a message crosses GPU link, NIC, fabric, NIC, GPU link.
    const std::vector<double> alpha_beta = in_child([&] {
      Cluster cluster(spec, n);
      cluster.set_message_overhead({4e-6, 4e-6});
      return std::vector<double>{cluster.message_latency_s(0, 1), cluster.route(0, 1).bandwidth_bytes_per_s};
    });
    CHECK(alpha_beta[1] == 12.5e9);
    const double expected = 2 * (n - 1) * (alpha_beta[0] + double(bytes) / n / alpha_beta[1]);
    INFO(n << " ranks");
    CHECK(last(run_messages(spec, ring_all_reduce(n, bytes), 4e-6)) == Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("a tree of whole vectors takes 2 ceil(log2 n) (alpha + S/beta)") {
  for (int n : {2, 5, 8}) {
    const ClusterSpec spec = tests::nvswitch_cluster(n, 1);
    const double alpha_s = in_child([&] {
      Cluster cluster(spec, n);
      cluster.set_message_overhead({4e-6, 4e-6});
      return std::vector<double>{cluster.message_latency_s(0, 1)};
    })[0];
    const int levels = n == 2 ? 1 : 3;
    INFO(n << " ranks");
    CHECK(last(run_messages(spec, tree_all_reduce(n, 4'000'000), 4e-6)) ==
          Approx(2 * levels * (alpha_s + 4e6 / 12.5e9)).epsilon(1e-6));
  }
}

TEST_CASE("hierarchical all-reduce takes 4(k-1) rounds of S/k and 2(g-1) of S/g") {
  // 4 nodes of 4 GPUs, k = 4, S = 16 MB. Chains: 2 x 6 rounds of 4 MB over NVSwitch (2 us + 100 us). Ring of 4 masters:
  // 6 rounds of 4 MB over the NICs at 12.5 GB/s (320 us) + latency of the route between nodes.
  ClusterSpec spec = tests::nvswitch_cluster(4, 4);
  const double latency_s = in_child([&] {
    Cluster cluster(spec, 16);
    return std::vector<double>{cluster.message_latency_s(0, 4)};
  })[0];
  const double expected = 12 * (2e-6 + 1e-4) + 6 * (latency_s + 3.2e-4);
  CHECK(last(run_messages(spec, hierarchical_all_reduce(16, 4, 16'000'000), 0)) == Approx(expected).epsilon(1e-9));
}

TEST_CASE("no all-reduce beats the bandwidth bound 2(n-1)/n S / (bandwidth of a node, by its GPUs)") {
  for (int nodes : {2, 4}) {
    const int gpus = nodes * 4;
    const ClusterSpec spec = tests::pcie_cluster(nodes, 4);
    const std::int64_t bytes = 24'000'000;
    for (const Plan& plan : {ring_all_reduce(gpus, bytes), hierarchical_all_reduce(gpus, 4, bytes),
                             halving_doubling_all_reduce(gpus, bytes), double_binary_tree_all_reduce(gpus, 8, bytes),
                             torus_all_reduce(gpus, 4, bytes)}) {
      INFO(plan.algorithm << " on " << gpus);
      // A node's data must leave it and the result come in: at least 2(nodes-1)/nodes S over its NIC.
      CHECK(last(run_messages(spec, plan, 0)) >= 2.0 * (nodes - 1) / nodes * double(bytes) / 12.5e9);
    }
  }
}

TEST_CASE("a late rank delays everybody, by no more than its lateness") {
  const ClusterSpec spec = tests::pcie_cluster(4, 4);
  for (const Plan& plan :
       {ring_all_reduce(16, 1 << 20), hierarchical_all_reduce(16, 4, 1 << 20), torus_all_reduce(16, 4, 1 << 20)}) {
    const std::vector<double> on_time = run_messages(spec, plan, 2e-6);
    const std::vector<double> late = in_child([&] {
      Cluster cluster(spec, 16);
      cluster.set_message_overhead({2e-6, 2e-6});
      std::vector<double> arrivals(16, 0.0);
      arrivals[5] = 1e-3;
      return plan_by_messages(plan, cluster, arrivals);
    });
    for (std::size_t rank = 0; rank < late.size(); ++rank) {
      INFO(plan.algorithm << ", rank " << rank);
      CHECK(late[rank] >= 1e-3);
      CHECK(late[rank] <= on_time[rank] + 1e-3 + 1e-9);
    }
  }
}
