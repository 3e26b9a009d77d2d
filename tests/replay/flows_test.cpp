// Flows without SimGrid take the times of its messages, rank by rank, whatever meets where: every collective on every
// kind of cluster, ranks that arrive together and apart. So do recurrences where they answer: what `fast` does up to 512
// GPUs.
#include <cmath>

#include "sim/collective/collectives.hpp"
#include "sim/collective/exchange.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/replay/replay.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

std::vector<Plan> flow_plans(int gpus, std::int64_t bytes) {
  const Roles roles = co_located_servers(gpus, 8, 3);
  std::vector<std::int64_t> shards(roles.servers.size(), bytes / 3);
  return {ring_all_reduce(gpus, bytes),
          hierarchical_all_reduce(gpus, 8, bytes),
          hierarchical_all_reduce(gpus, 16, bytes, 3),
          halving_doubling_all_reduce(gpus, bytes),
          tree_all_reduce(gpus, bytes),
          double_binary_tree_all_reduce(gpus, 5, bytes),
          torus_all_reduce(gpus, 8, bytes),
          reduce_scatter(gpus, bytes),
          all_to_all(gpus, bytes),
          push_gradients(roles, shards),
          pull_parameters(roles, shards)};
}

// The largest relative difference of a rank's times, by flows and, where it answers, by max-plus.
double worst(const ClusterSpec& spec, const Plan& plan, double spread_s, double reduction_rate) {
  return in_child([&] {
    Cluster cluster(spec, plan.ranks);
    cluster.set_message_overhead({5e-6, 7e-6});
    const std::vector<double> arrivals = tests::random_arrivals(plan.ranks, spread_s);
    const std::vector<double> flows = plan_by_flows(plan, cluster, arrivals, reduction_rate);
    const std::vector<double> messages = plan_by_messages(plan, cluster, arrivals, reduction_rate);
    std::vector<double> fast = arrivals;
    if (!plan_by_max_plus(plan, cluster, fast, reduction_rate)) fast = flows;
    double most = 0;
    for (const std::vector<double>& times : {flows, fast})
      for (std::size_t rank = 0; rank < times.size(); ++rank)
        most = std::max(most, std::fabs(times[rank] / messages[rank] - 1));
    return std::vector<double>{most};
  })[0];
}

}  // namespace

TEST_CASE("property: fast takes the times of messages: every collective on every kind of cluster, 8 to 64 GPUs") {
  for (int gpus : {8, 24, 64})
    for (const ClusterSpec& spec : tests::clusters_of_each_kind(gpus / 8))
      for (const Plan& plan : flow_plans(gpus, 3'000'000)) {
        INFO(plan.algorithm << " over " << gpus << " on " << spec.name);
        CHECK(worst(spec, plan, 0, 0) < 1e-6);
        CHECK(worst(spec, plan, 2e-3, 5e9) < 1e-6);
      }
}

TEST_CASE("property: fast takes the times of messages: collectives of few messages on 512 GPUs") {
  const Roles roles = co_located_servers(512, 8, 3);
  const std::vector<std::int64_t> shares{1'000'000, 1'200'000, 800'000};
  for (const ClusterSpec& spec : tests::clusters_of_each_kind(64))
    for (const Plan& plan : {hierarchical_all_reduce(512, 8, 3'000'000), halving_doubling_all_reduce(512, 3'000'000),
                             tree_all_reduce(512, 3'000'000), double_binary_tree_all_reduce(512, 4, 3'000'000),
                             push_gradients(roles, shares), pull_parameters(roles, shares)}) {
      INFO(plan.algorithm << " on " << spec.name);
      CHECK(worst(spec, plan, 2e-3, 5e9) < 1e-6);
    }
}

// Both messages leave node 0 by its one NIC of 12.5 GB/s and share it evenly: a millisecond after their latency, each has
// 12.5 MB - 1 ms x 6.25 GB/s = 6.25 MB left. Ranks arrive at 1 s.
TEST_CASE("a dump of links lists what each carries, and what its messages have left") {
  const Cluster cluster(tests::nvswitch_cluster(2, 2), 4);
  Plan plan{"two messages", 4, 12'500'000, {}};
  plan.phases.edit().push_back({Transfers(Transfers::Block{{0, 2, 12'500'000}, {1, 3, 12'500'000}}), 1});
  ReplayOptions options;
  options.dump_links_at_s = 1 + cluster.message_latency_s(0, 2) + 1e-3;
  const auto no_jitter = [](int, int) { return 1.0; };
  const std::string text = replay_flows(program_of_plan(plan, 0), cluster, no_jitter, options).links_dump;
  CHECK_THAT(text, Contains("node0.nic0.up: 12.5 GB/s of 12.5 GB/s\n  GPU 0 to GPU 2: 6.25 GB/s, 6.25 MB left\n"
                            "  GPU 1 to GPU 3: 6.25 GB/s, 6.25 MB left\n"));
  CHECK_THAT(text, Contains("node0.gpu0.pcie.up: 6.25 GB/s of 25.0 GB/s\n  GPU 0 to GPU 2: 6.25 GB/s, 6.25 MB left\n"));
  options.dump_links_at_s = 0.5;  // all still compute
  CHECK_THAT(replay_flows(program_of_plan(plan, 0), cluster, no_jitter, options).links_dump, Contains("at 0.5 s: 0\n"));
  options.dump_links_at_s = 2;  // all has arrived
  CHECK(replay_flows(program_of_plan(plan, 0), cluster, no_jitter, options).links_dump.empty());
}
