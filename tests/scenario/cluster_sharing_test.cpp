// Scenarios whose jobs share the cluster: each job becomes a variant on nodes of its own; mistakes name their place.
#include "sim/scenario/scenario.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"
#include "tests/scenario/small_files.hpp"

namespace lockstep::tests {
namespace {

using sim::LoadedScenario;

// Eight nodes of two GPUs.
Json eight_nodes() {
  Json cluster = small_cluster();
  cluster["nodes"] = 8;
  return cluster;
}

std::string error_with(const std::string& key, const Json& value) {
  SmallFiles files(small_scenario(), eight_nodes());
  files.scenario[key] = value;
  return error_of([&] { return files.load(); });
}

}  // namespace

TEST_CASE("jobs are variants on nodes of their own: the listed ones, else the lowest that are free") {
  SmallFiles files(small_scenario(), eight_nodes());
  files.scenario["jobs"] = {{{"name", "a"}, {"gpus", 4}},
                            {{"name", "b"}, {"gpus", 4}, {"nodes", {1, 6}}, {"set", {{"/batch_per_gpu", 8}}}},
                            {{"name", "c"}, {"gpus", 6}}};
  files.scenario["background"] = {{{"from", 0}, {"to", 7}, {"rate", "2 GB/s"}}};
  const LoadedScenario loaded = files.load();
  CHECK(loaded.shares_cluster);
  REQUIRE(loaded.variants.size() == 3);
  CHECK(loaded.variants[0].cluster.nodes_used == std::vector<int>{0, 2});
  CHECK(loaded.variants[1].cluster.nodes_used == std::vector<int>{1, 6});
  CHECK(loaded.variants[2].cluster.nodes_used == std::vector<int>{3, 4, 5});
  CHECK(loaded.variants[1].gpus == std::vector<int>{4});
  CHECK(loaded.variants[1].batch_at(4) == 8);
  CHECK(loaded.variants[0].batch_at(4) == 16);
  REQUIRE(loaded.variants[2].background.size() == 1);
  CHECK(loaded.variants[2].background[0].bytes_per_s == 2e9);
  CHECK_FALSE(SmallFiles().load().shares_cluster);

  CHECK_THAT(error_of([&] {
               return files.load({{"/cluster/nodes_used", "[0, 1]"}});
             }),
             Contains("each job has its GPUs"));
  CHECK_THAT(error_of([&] { return files.load({}, {2}); }), Contains("--gpus: each job has its number of GPUs"));
  files.scenario.erase("jobs");
  files.scenario["variants"] = {{{"name", "a"}, {"set", Json::object()}}};
  CHECK_THAT(error_of([&] { return files.load(); }), Contains("/background: given with \"variants\""));
  files.scenario.erase("variants");
  files.scenario["background"] = Json::array();
  CHECK_FALSE(files.load().shares_cluster);
}

TEST_CASE("mistakes in jobs, background traffic and faults name their place and what is allowed") {
  const Json a{{"name", "a"}, {"gpus", 4}, {"nodes", {1, 2}}};
  CHECK_THAT(error_with("jobs", {a, {{"name", "b"}, {"gpus", 2}, {"nodes", {2}}}}),
             Contains("/jobs/1/nodes/0: node 2 is used by job \"a\" too"));
  CHECK_THAT(error_with("jobs", {a, a}), Contains("/jobs/1/name: another job has this name"));
  CHECK_THAT(error_with("jobs", {{{"name", "a"}, {"gpus", 6}, {"nodes", {1, 2}}}}),
             Contains("/jobs/0/nodes: 2 nodes, but 6 GPUs need 3"));
  CHECK_THAT(error_with("jobs", {{{"name", "a"}, {"gpus", 10}}, {{"name", "b"}, {"gpus", 8}}}),
             Contains("/jobs: the jobs need 9 nodes or more, and the cluster has 8"));
  CHECK_THAT(error_with("jobs", {{{"name", "a"}, {"gpus", 2}, {"nodes", {8}}}}), Contains("8"));
  CHECK_THAT(error_with("jobs", {{{"name", "a"}, {"gpus", 2}, {"set", {{"/cluster/nodes", 4}}}}}),
             Contains("jobs share one cluster"));
  CHECK_THAT(error_with("jobs", {{{"name", "a"}, {"gpus", 2}, {"set", {{"/fidelity", "message"}}}}}),
             Contains("jobs share one cluster, its traffic and the fidelity"));
  CHECK_THAT(error_with("jobs", Json::array()), Contains("empty list"));
  CHECK_THAT(error_with("background", {{{"from", 3}, {"to", 3}, {"rate", "1 GB/s"}}}), Contains("the node that sends"));
  CHECK_THAT(error_with("background", {{{"from", 3}, {"to", 8}, {"rate", "1 GB/s"}}}),
             Contains("/background/0: node 8 of a cluster of 8; allowed: 0 to 7"));

  const auto cluster_error = [](const std::string& key, const Json& value) {
    SmallFiles files(small_scenario(), eight_nodes());
    files.cluster[key] = value;
    return error_of([&] { return files.load(); });
  };
  CHECK_THAT(cluster_error("nodes_used", {0, 3, 0}), Contains("node 0 is listed twice"));
  CHECK_THAT(cluster_error("nodes_used", {0}), Contains("4 GPUs need 2 nodes, and 1 are listed"));
  CHECK_THAT(cluster_error("faults", {{{"node", 8}, {"nic", 0}}}), Contains("numbered from 0; allowed: up to 7"));
  CHECK_THAT(cluster_error("faults", {{{"node", 1}, {"nic", 0}}}), Contains("all NICs of node 1 are dead"));
  const Json slow{{"link", "node1.nic0"}, {"bandwidth_share", 0.5}};
  CHECK_THAT(cluster_error("faults", {slow, slow}), Contains("/faults/0 has the same NIC or link"));
  CHECK_THAT(cluster_error("faults", {{{"node", 1}}}), Contains("nic"));
  CHECK_THAT(cluster_error("faults", {{{"bandwidth_share", 0.5}}}), Contains("\"link\""));
  CHECK_THAT(cluster_error("faults", {{{"link", "node1.nic0"}, {"bandwidth_share", 1}}}), Contains("1 is no fault"));
}

}  // namespace lockstep::tests
