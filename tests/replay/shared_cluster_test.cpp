// Jobs at the same time on one cluster: two that fill a link take twice as long, flows take the times of SimGrid's
// messages, and jobs whose messages never meet take no longer than alone.
#include <cmath>

#include "engine/model/zoo/zoo.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/collective/groups.hpp"
#include "sim/point/point.hpp"
#include "sim/point/shared_cluster.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/ranges.hpp"
#include "tests/catch.hpp"
#include "tests/fork.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using lockstep::tests::in_child;

namespace {

// Leaves of two nodes with one uplink each: jobs on nodes 0, 2 and 1, 3 meet there.
ClusterSpec narrow_tree(std::vector<int> nodes_used) {
  ClusterSpec spec = tests::fat_tree_cluster(4, "narrow tree", {{2, 2}, {1, 1}, {1, 1}});
  spec.nodes_used = std::move(nodes_used);
  return spec;
}

Scenario network_bound(std::vector<int> nodes, int batch) {
  Scenario s;
  s.name = "job on node " + std::to_string(nodes.front());
  s.cluster = narrow_tree(std::move(nodes));
  s.model = model::zoo_graph("vgg16");
  s.gpus = {16};
  s.baseline_gpus = 8;
  s.batch = {{kMostGpus, batch}};
  s.cluster.gpu.fp32_flops = s.cluster.gpu.memory_bandwidth_bytes_per_s = 1e18;  // computing takes next to no time
  s.compute.compute_efficiency = {{1, 1}};
  s.communication.overlap = false;
  s.iterations = 4;
  return s;
}

double ends_s(const Replay& replay) {
  return replay.iteration_end_s.back();
}

}  // namespace

TEST_CASE("two all-reduces that meet on an uplink take twice their transfer; so does one beside background traffic") {
  const std::int64_t bytes = 160'000'000;
  const Plan plan = ring_all_reduce(16, bytes);
  const Program program = program_of_plan(plan, 0);
  const Jitter at_once = [](int, int) { return 0.0; };
  const Cluster first(narrow_tree({0, 2}), 16), second(narrow_tree({1, 3}), 16), apart(narrow_tree({0, 1}), 16),
      far(narrow_tree({2, 3}), 16);
  const double alone_s = ends_s(replay_flows(program, first, at_once));
  const std::vector<Replay> both =
      replay_flows_of_jobs({{&program, &first, &at_once, 0}, {&program, &second, &at_once, 0}}, {});
  // 30 rounds of 10 MB; the latencies are not doubled.
  const double transfer_s = 30 * 10e6 / 12.5e9;
  CHECK(alone_s > transfer_s);
  CHECK(ends_s(both[0]) - alone_s == Approx(transfer_s).epsilon(1e-9));
  CHECK(ends_s(both[1]) == Approx(ends_s(both[0])).epsilon(1e-12));

  const std::vector<Replay> separate =
      replay_flows_of_jobs({{&program, &apart, &at_once, 0}, {&program, &far, &at_once, 0}}, {});
  CHECK(ends_s(separate[0]) == Approx(ends_s(replay_flows(program, apart, at_once))).epsilon(1e-12));

  // Background from node 1 to node 3 takes half of the uplink of nodes 0 and 1, or less if it is limited.
  const auto with_background = [&](double bytes_per_s) {
    return ends_s(replay_flows_of_jobs({{&program, &first, &at_once, 0}}, {{1, 3, bytes_per_s}}).front());
  };
  CHECK(with_background(100e9) - alone_s == Approx(transfer_s).epsilon(1e-6));
  CHECK(with_background(2.5e9) - alone_s == Approx(30 * 10e6 / 10e9 - transfer_s).epsilon(1e-6));

  // A job that starts when the other has ended is not slowed.
  const std::vector<Replay> later =
      replay_flows_of_jobs({{&program, &first, &at_once, 0}, {&program, &second, &at_once, 2 * alone_s}}, {});
  CHECK(ends_s(later[0]) == Approx(alone_s).epsilon(1e-12));
  CHECK(ends_s(later[1]) == Approx(3 * alone_s).epsilon(1e-9));
}

TEST_CASE("flows of several jobs take the times of SimGrid's messages, with faults, ECMP and background traffic") {
  for (const int hash : {1, 2, 3}) {
    const double worst = in_child([&] {
      std::vector<Plan> plans{ring_all_reduce(16, 30'000'000), halving_doubling_all_reduce(16, 20'000'000)};
      std::vector<Program> programs;
      for (const Plan& plan : plans) programs.push_back(program_of_plan(plan, 0));
      std::vector<Cluster> clusters;
      for (const std::vector<int>& nodes : {std::vector<int>{0, 5}, std::vector<int>{4, 1}}) {
        ClusterSpec spec = tests::fat_tree_cluster(6, "tree", {{2, 3}, {1, 2}, {1, 1}});
        spec.fabric.routing = Routing::ecmp;
        spec.fabric.hash = hash;
        spec.nodes_used = nodes;
        FaultSpec slow;
        slow.link = "fabric.level1.0.port1";
        slow.bandwidth_share = 0.3;
        spec.faults = {slow};
        clusters.emplace_back(spec, 16);
      }
      clusters[1].set_message_overhead({3e-6, 4e-6});
      const Jitter jitter = [](int gpu, int) { return 1e-3 * (1 + gpu % 5); };
      const std::vector<JobToReplay> jobs{{&programs[0], &clusters[0], &jitter, 0},
                                          {&programs[1], &clusters[1], &jitter, 2e-3}};
      const std::vector<BackgroundFlow> background{{2, 1, hash == 3 ? 1e8 : 3e9}, {3, 0, 50e9}};
      ReplayOptions options;
      options.keep_ends = true;
      const std::vector<Replay> flows = replay_flows_of_jobs(jobs, background, options);
      const std::vector<Replay> messages = replay_messages_of_jobs(jobs, background, options);
      double most = 0;
      for (std::size_t job = 0; job < jobs.size(); ++job)
        for (std::size_t gpu = 0; gpu < 16; ++gpu)
          most = std::max(most, std::fabs(flows[job].ends_s[0][gpu] / messages[job].ends_s[0][gpu] - 1));
      return std::vector<double>{most};
    })[0];
    INFO("hash " << hash);
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("flows take the times of SimGrid's messages where levels of the tree have links of their own") {
  const double worst = in_child([] {
    ClusterSpec spec = tests::fat_tree_cluster(4, "tree", {{2, 2}, {1, 1}, {1, 1}, {{20e9, 2e-6}, {3e9, 4e-4}}});
    const Cluster cluster(spec, 16);
    const Jitter at_once = [](int, int) { return 1.0; };
    ReplayOptions options;
    options.keep_ends = true;
    const Plan plan = average_between_groups(16, 8, 40'000'000);
    const Program program = program_of_plan(plan, 0);
    const Replay flows = replay_flows(program, cluster, at_once, options);
    const Replay messages = replay_messages(program, cluster, at_once, options);
    double most = 0;
    for (std::size_t gpu = 0; gpu < 16; ++gpu)
      most = std::max(most, std::fabs(flows.ends_s[0][gpu] / messages.ends_s[0][gpu] - 1));
    return std::vector<double>{most};
  })[0];
  CHECK(worst < 1e-6);
}

TEST_CASE("jobs that fill one uplink are each slowed to half their rate; apart, by nothing; alone, as predicted") {
  const Scenario left = network_bound({0, 2}, 32), right = network_bound({1, 3}, 32);
  const SharedCluster shared = predict_shared_cluster({{&left, 16}, {&right, 16}});
  REQUIRE(shared.jobs.size() == 2);
  CHECK(shared.replays == 9);
  for (const SharedJob& job : shared.jobs) {
    CHECK(job.slowdown() > 1.8);  // the update takes as long as alone
    CHECK(job.slowdown() < 2.001);
    CHECK(job.together_low_s <= job.together_s);
    CHECK(job.together_high_s >= job.together_s);
  }
  const Scenario near_left = network_bound({0, 1}, 32), near_right = network_bound({2, 3}, 32);
  const SharedCluster apart = predict_shared_cluster({{&near_left, 16}, {&near_right, 16}});
  for (const SharedJob& job : apart.jobs) CHECK(job.slowdown() == Approx(1).epsilon(1e-6));
  const Scenario alone = network_bound({0, 2}, 32);
  CHECK(shared.jobs[0].alone_s ==
        Approx(predict_point(alone, request_for(alone, 16, 32)).mean_iteration_s()).epsilon(1e-6));
}

TEST_CASE(
    "workers and their servers take the job's nodes: on a star any nodes are as good, and unused faults cost nothing") {
  for (const Algorithm algorithm : {Algorithm::backup_workers, Algorithm::async_sgd, Algorithm::async_easgd}) {
    Scenario s = network_bound({0, 2}, 32);
    s.cluster = tests::nvswitch_cluster(8, 8);
    s.algorithm = algorithm;
    s.workers = WorkersSpec{};
    s.workers->separate = true;
    s.workers->servers = algorithm == Algorithm::backup_workers ? 2 : 1;
    const auto time_s = [&] { return predict_point(s, request_for(s, 16, 32)).mean_iteration_s(); };
    const double first_nodes_s = time_s();
    s.cluster.nodes_used = {7, 5, 6, 4};
    CHECK(time_s() == Approx(first_nodes_s).epsilon(1e-9));
    FaultSpec slow;
    slow.node = 2;
    slow.nic = 0;
    slow.bandwidth_share = 0.01;
    s.cluster.faults = {slow};
    CHECK(time_s() == Approx(first_nodes_s).epsilon(1e-9));
    s.cluster.faults[0].node = 6;  // of the first server
    CHECK(time_s() > 1.5 * first_nodes_s);
    if (algorithm != Algorithm::backup_workers) continue;
    s.cluster.faults[0].node = 4;  // of the second one
    CHECK(time_s() > 1.5 * first_nodes_s);
  }
}

TEST_CASE("a slow job beside a fast one is measured over some of its own iterations") {
  Scenario fast = network_bound({0, 2}, 32), slow = network_bound({1, 3}, 32);
  slow.cluster.gpu.fp32_flops = 2e12;  // some seconds an iteration
  const SharedCluster shared = predict_shared_cluster({{&fast, 16}, {&slow, 16}});
  CHECK(shared.jobs[0].slowdown() > 1);
  CHECK(shared.jobs[0].slowdown() < 1.5);
  CHECK(shared.jobs[1].slowdown() >= 1 - 1e-9);
  CHECK(shared.jobs[1].slowdown() < 1.5);
  Scenario with_workers = network_bound({0, 2}, 32);
  with_workers.algorithm = Algorithm::async_sgd;
  with_workers.workers = WorkersSpec{};
  CHECK_THROWS_WITH(predict_shared_cluster({{&with_workers, 16}, {&slow, 16}}), Contains("do not wait for each other"));
  CHECK_THROWS_WITH(predict_shared_cluster({{&fast, 16}, {&fast, 16}}), Contains("use node 0"));
}
