// Facts computed once for a class of equivalent units are those of each unit. The closed form by classes must equal
// that by single links, for every collective on every kind of cluster, also at sizes that nothing divides.
#include <algorithm>
#include <map>
#include <set>

#include "sim/collective/collectives.hpp"
#include "sim/collective/exchange.hpp"
#include "sim/collective/parameter_server.hpp"
#include "sim/collective/sufficient_factors.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/unit_classes.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/replay/clusters.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

// Besides those of each kind, what does not divide.
std::vector<ClusterSpec> clusters_of(int nodes) {
  std::vector<ClusterSpec> specs = tests::clusters_of_each_kind(nodes);
  const int leaves = (nodes + 3) / 4;
  specs.push_back(tests::fat_tree_cluster(nodes, "fat tree whose uplinks do not divide the leaf's nodes",
                                          {{4, leaves}, {1, 3}, {1, 1}}));
  specs.push_back(tests::fat_tree_cluster(nodes, "fat tree of three levels", {{2, 2, leaves}, {1, 2, 1}, {1, 1, 2}}));
  specs.push_back(tests::nvswitch_cluster(nodes, 8));
  specs.back().name = "a NIC per GPU, narrow ports";
  specs.back().nic.per_node = 8;
  specs.back().fabric.link.bandwidth_bytes_per_s = 30e9;
  return specs;
}

std::vector<Plan> plans_of(int gpus, std::int64_t bytes) {
  std::vector<Plan> plans{ring_all_reduce(gpus, bytes),
                          hierarchical_all_reduce(gpus, 8, bytes),
                          hierarchical_all_reduce(gpus, 3, bytes, 5),
                          halving_doubling_all_reduce(gpus, bytes),
                          tree_all_reduce(gpus, bytes),
                          double_binary_tree_all_reduce(gpus, 5, bytes),
                          reduce_scatter(gpus, bytes),
                          all_to_all(gpus, bytes)};
  for (int columns : {2, 8, 16})
    if (gpus % columns == 0) plans.push_back(torus_all_reduce(gpus, columns, bytes));
  for (int servers : {0, 3}) {
    const Roles roles = co_located_servers(gpus, 8, servers);
    const std::vector<std::int64_t> shares =
        ShardDealer(static_cast<int>(roles.servers.size())).deal_pairs(bytes, 70'000);
    plans.push_back(push_gradients(roles, shares));
    plans.push_back(pull_parameters(roles, shares));
  }
  return plans;
}

// The same cluster, whose nodes are said to differ.
Cluster link_by_link(const ClusterSpec& spec, int gpus) {
  Cluster cluster(spec, gpus);
  cluster.divide_bandwidth_of_node(0, 1);
  return cluster;
}

}  // namespace

TEST_CASE("law: the closed form by classes of alike units is that link by link") {
  for (int gpus : {8, 16, 24, 50, 64, 136, 200, 512})
    for (const ClusterSpec& spec : clusters_of((gpus + 7) / 8 + 1)) {
      Cluster by_class(spec, gpus), by_link = link_by_link(spec, gpus);
      REQUIRE(by_link.gpus_of_unit() == gpus);
      for (Cluster* cluster : {&by_class, &by_link}) cluster->set_message_overhead({5e-6, 7e-6});
      for (const Plan& plan : plans_of(gpus, 3'000'017)) {
        INFO(plan.algorithm << " over " << gpus << " on " << spec.name);
        for (double rate : {0.0, 5e9})
          CHECK(analytic_plan_s(plan, by_class, rate) == Approx(analytic_plan_s(plan, by_link, rate)).epsilon(1e-13));
      }
    }
}

// plan_costs() shares work between plans of the same ranks; analytic_plan_s() adds up every message of one plan.
TEST_CASE("law: the closed form of uneven messages is that of every message") {
  for (const ClusterSpec& spec : clusters_of(9)) {
    const int gpus = 64;
    const Cluster cluster(spec, gpus);
    for (int servers : {0, 3}) {
      const Roles roles = co_located_servers(gpus, 8, servers);
      ShardDealer dealer(static_cast<int>(roles.servers.size()));
      Program program;
      program.gpus = gpus;
      program.reduction_rate_bytes_per_s = servers == 0 ? 0 : 5e9;
      for (std::int64_t bytes : {3'000'017, 900'000, 5'123'456, 70'001, 2'999'999}) {
        const std::vector<std::int64_t> shares = dealer.deal_pairs(bytes, 70'000);
        program.plans.push_back(push_gradients(roles, shares));
        program.plans.push_back(pull_parameters(roles, shares));
      }
      const PlanCosts costs = plan_costs(program, cluster);
      for (std::size_t p = 0; p < program.plans.size(); ++p)
        for (const Perturbation& perturbation : {Perturbation{}, Perturbation{1, 1, 1000}, Perturbation{1, 0.01, 1}}) {
          INFO(program.plans[p].algorithm << " " << p << " on " << spec.name);
          const double every_s =
              analytic_plan_s(program.plans[p], cluster, program.reduction_rate_bytes_per_s, perturbation);
          CHECK(every_s > 0);
          CHECK(seconds_of(costs.phases[p], perturbation) == Approx(every_s).epsilon(1e-12));
        }
    }
  }
}

// Links that all plans occupy for the same times are one link of busy_s.
TEST_CASE("law: uneven messages occupy links as each message does, if collectives run on two streams") {
  using ByPlan = std::map<std::size_t, double>;
  for (const ClusterSpec& spec : clusters_of(9)) {
    const Cluster cluster(spec, 64);
    const Roles roles = co_located_servers(64, 8, 0);
    ShardDealer dealer(static_cast<int>(roles.servers.size()));
    Program program;
    program.gpus = 64;
    for (std::int64_t bytes : {3'000'017, 900'000, 5'123'456, 70'001, 560'000}) {
      const std::vector<std::int64_t> shares = dealer.deal_pairs(bytes, 70'000);
      program.plans.push_back(push_gradients(roles, shares));
      program.plans.push_back(pull_parameters(roles, shares));
    }
    std::vector<const Plan*> plans;
    for (const Plan& plan : program.plans) {
      Work work;
      work.kind = Work::Kind::collective;
      work.stream = work.plan = static_cast<int>(plans.size());
      program.work.push_back(work);
      plans.push_back(&plan);
    }
    const UnitClasses units(plans, cluster);
    std::map<int, ByPlan> expected, found;
    for (std::size_t p = 0; p < plans.size(); ++p)
      for (const Phase& phase : plans[p]->phases)
        for (const auto& block : phase.transfers.blocks())
          for (const Run& run : block->runs())
            for (const RunOnLinks::Crossing& crossing : units.find(run).crossings)
              expected[crossing.link][p] +=
                  phase.rounds * crossing.messages * double(run.bytes) / units.bandwidth(crossing.link);
    const PlanCosts costs = plan_costs(program, cluster);
    REQUIRE(costs.busy_s.size() == plans.size());
    for (std::size_t p = 0; p < plans.size(); ++p)
      for (const auto& [link, busy_s] : costs.busy_s[p]) found[link][p] = busy_s;
    const auto distinct = [](const std::map<int, ByPlan>& links) {
      std::set<ByPlan> all;
      for (auto [link, by_plan] : links) {
        for (auto& [plan, busy_s] : by_plan) busy_s = std::round(busy_s * 1e13);
        all.insert(by_plan);
      }
      return all;
    };
    INFO(spec.name);
    CHECK(distinct(expected).size() > 1);
    CHECK(distinct(found) == distinct(expected));
  }
}

TEST_CASE("law: links of a class carry the bytes of each of their links") {
  for (const ClusterSpec& spec : clusters_of(9)) {
    const Cluster by_class(spec, 64), by_link = link_by_link(spec, 64);
    for (const Plan& plan : plans_of(64, 3'000'017)) {
      INFO(plan.algorithm << " on " << spec.name);
      std::set<double> loads[2];  // seconds for which links are busy
      for (int way = 0; way < 2; ++way) {
        const UnitClasses units({&plan}, way == 0 ? by_class : by_link);
        std::map<int, double> seconds;
        for (const Phase& phase : plan.phases)
          for (const auto& block : phase.transfers.blocks())
            for (const Run& run : block->runs())
              for (const RunOnLinks::Crossing& crossing : units.find(run).crossings)
                seconds[crossing.link] +=
                    phase.rounds * crossing.messages * double(run.bytes) / units.bandwidth(crossing.link);
        for (const auto& [link, busy_s] : seconds) loads[way].insert(std::round(busy_s * 1e13));
      }
      CHECK(loads[0] == loads[1]);
    }
  }
}

TEST_CASE("a ring over many nodes has few classes of nodes and as many routes of messages") {
  // Nodes inside, the first and the last, which the ring's last message joins.
  const Cluster cluster(tests::nvswitch_cluster(1024, 8), 8192);
  const Plan plan = ring_all_reduce(8192, 1'000'000);
  const UnitClasses units({&plan}, cluster);
  CHECK(units.links() == 3 * cluster.links_of_unit());
  std::size_t routes = 0;
  for (const Run& run : plan.phases[0].transfers.blocks().front()->runs()) routes += units.find(run).routes.size();
  CHECK(routes < 3 * 8 + 4);
  CHECK(plan.phases[0].transfers.blocks().front()->runs().size() == 2);
}

TEST_CASE("collectives between more pairs of nodes than memory can hold are refused before the search") {
  const Cluster cluster(tests::nvswitch_cluster(8192, 8), 65536);
  const Plan factors = broadcast_factors(co_located_servers(65536, 8, 0), 1'000'000);
  CHECK_THAT(error_of([&] { UnitClasses({&factors}, cluster); }),
             Contains("67 million messages between different pairs of nodes; allowed: 20 million, which "));
  // All other collectives repeat from node to node.
  for (const Plan& plan : {ring_all_reduce(65536, 1'000'000), hierarchical_all_reduce(65536, 8, 1'000'000),
                           halving_doubling_all_reduce(65536, 1'000'000), tree_all_reduce(65536, 1'000'000),
                           double_binary_tree_all_reduce(65536, 5, 1'000'000)}) {
    INFO(plan.algorithm);
    CHECK(error_of([&] { UnitClasses({&plan}, cluster); }).empty());
  }
}

TEST_CASE("runs: a block keeps the order of its transfers") {
  Transfers::Block block;
  const std::vector<Transfer> all{{0, 1, 5},       {2, 3, 5},       {4, 5, 5}, {4, 5, 6},
                                  {9, 2, 6, true}, {8, 2, 6, true}, {1, 1, 1}};
  for (const Transfer& t : all) block.push_back(t);
  CHECK(block.size() == all.size());
  CHECK(block.runs().size() == 4);
  std::size_t i = 0;
  for (const Transfer& t : block) {
    CHECK(t.src == all[i].src);
    CHECK(t.dst == all[i].dst);
    CHECK(t.bytes == all[i].bytes);
    CHECK(t.reduces == all[i].reduces);
    ++i;
  }
  CHECK(i == all.size());
}
