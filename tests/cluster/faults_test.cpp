// Faults, the nodes of a job, and ECMP: which links routes take, and that SimGrid's messages take the same times.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "sim/cluster/cluster.hpp"
#include "tests/catch.hpp"
#include "tests/cluster/flows.hpp"
#include "tests/fork.hpp"

namespace lockstep::tests {
namespace {

std::string route_text(const sim::Cluster& cluster, int src, int dst) {
  std::string text;
  for (const int link : cluster.route(src, dst).links) text += (text.empty() ? "" : " ") + cluster.link_name(link);
  return text;
}

// Four leaves of four nodes, two uplinks each, two cables to each of two spines.
sim::ClusterSpec tree_cluster() {
  sim::ClusterSpec spec = plain_cluster(16, 2);
  spec.nic.per_node = 2;
  spec.nic.attach = {0, 0};
  spec.fabric.kind = sim::FabricKind::fat_tree;
  spec.fabric.fat_tree = {{4, 4}, {1, 2}, {1, 2}};
  return spec;
}

sim::FaultSpec dead_nic(int node, int nic) {
  sim::FaultSpec fault;
  fault.node = node;
  fault.nic = nic;
  return fault;
}

sim::FaultSpec slow_link(const std::string& link, double share) {
  sim::FaultSpec fault;
  fault.link = link;
  fault.bandwidth_share = share;
  return fault;
}

}  // namespace

TEST_CASE("a dead NIC leaves its GPUs to the node's others; other nodes keep their routes") {
  sim::ClusterSpec spec = plain_cluster(3, 4);
  spec.nic.per_node = 2;
  spec.nic.attach = {0, 1};
  spec.fabric.link.bandwidth_bytes_per_s = 10e9;  // no bottleneck, so that the fabric has no links
  const sim::Cluster healthy(spec, 12);
  spec.faults = {dead_nic(1, 1)};
  const sim::Cluster cluster(spec, 12);
  CHECK(route_text(healthy, 6, 0) == "node1.gpu2.pcie.up node1.nic1.up node0.nic0.down node0.gpu0.pcie.down");
  CHECK(route_text(cluster, 6, 0) ==
        "node1.gpu2.pcie.up node1.switch1.up node1.socket1-0 node1.switch0.down node1.nic0.up node0.nic0.down "
        "node0.gpu0.pcie.down");
  CHECK(route_text(cluster, 2, 8) == route_text(healthy, 2, 8));
  CHECK(cluster.message_latency_s(6, 0) > healthy.message_latency_s(6, 0));
  CHECK(cluster.message_latency_s(2, 8) == healthy.message_latency_s(2, 8));
  spec.faults = {dead_nic(1, 0)};
  CHECK(route_text(sim::Cluster(spec, 12), 4, 0).find("node1.nic1.up") != std::string::npos);
}

TEST_CASE("a slow link has its share of the bandwidth, in the directions that its name gives") {
  sim::ClusterSpec spec = plain_cluster(2, 2);
  const sim::Cluster healthy(spec, 4);
  spec.faults = {slow_link("node1.nic0", 0.25), slow_link("node0.gpu1.pcie.up", 0.5)};
  const sim::Cluster cluster(spec, 4);
  std::map<std::string, double> shares;
  for (int link = 0; link < cluster.link_count(); ++link)
    shares[cluster.link_name(link)] = cluster.link_bandwidth(link) / healthy.link_bandwidth(link);
  for (const auto& [name, share] : shares)
    CHECK(share == (name == "node1.nic0.up" || name == "node1.nic0.down" ? 0.25
                    : name == "node0.gpu1.pcie.up"                       ? 0.5
                                                                         : 1));
  CHECK(cluster.units() == 1);
  CHECK(healthy.units() == 2);
  spec.faults = {slow_link("node1.nic7", 0.5)};
  CHECK_THROWS_WITH(sim::Cluster(spec, 4), Contains("no link is named \"node1.nic7\""));
  for (const char* name : {"node99999999999999999999.nic0", "node-1.nic0", "node1.nic", "nic0", "fabric.node0"}) {
    spec.faults = {slow_link(name, 0.5)};
    CHECK_THROWS_WITH(sim::Cluster(spec, 4), Contains("allowed: names such as \"node0."));
  }
  // Of a cluster of more nodes, links of nodes that the job does not use are known, others are not.
  sim::ClusterSpec larger = plain_cluster(4, 2);
  larger.faults = {slow_link("node3.nic0", 0.5)};
  CHECK(sim::Cluster(larger, 4).link_bandwidth(0) == healthy.link_bandwidth(0));
  larger.faults = {slow_link("node3.nic1", 0.5)};
  CHECK_THROWS_WITH(sim::Cluster(larger, 4), Contains("no link is named \"node3.nic1\""));
  spec.faults = {slow_link("node0.gpu1.pcie.up", 0)};
  CHECK_THROWS_WITH(sim::Cluster(spec, 4), Contains("routes are fixed"));
}

TEST_CASE("a dead cable of a fat tree is avoided; without any way left, both nodes are named") {
  sim::ClusterSpec spec = tree_cluster();
  const sim::Cluster healthy(spec, 32);
  spec.faults = {slow_link("fabric.level1.0.port0", 0)};
  const sim::Cluster cluster(spec, 32);
  int avoided = 0;
  for (int src = 0; src < 32; ++src)
    for (int dst = 0; dst < 32; ++dst) {
      if (src / 2 == dst / 2) continue;
      const bool was_used = route_text(healthy, src, dst).find("fabric.level1.0.port0.") != std::string::npos;
      CHECK(route_text(cluster, src, dst).find("fabric.level1.0.port0.") == std::string::npos);
      CHECK(cluster.route(src, dst).links.size() == healthy.route(src, dst).links.size());
      avoided += was_used;
    }
  CHECK(avoided > 0);
  // A cable that a route does not use does not change it.
  for (int src = 0; src < 32; ++src)
    for (int dst = 0; dst < 32; ++dst)
      if (src / 2 != dst / 2 && route_text(healthy, src, dst).find("fabric.level1.0.port0.") == std::string::npos)
        CHECK(route_text(cluster, src, dst) == route_text(healthy, src, dst));
  spec.faults = {slow_link("fabric.level1.0.port0", 0), slow_link("fabric.level1.0.port1", 0),
                 slow_link("fabric.level1.0.port2", 0), slow_link("fabric.level1.0.port3", 0)};
  CHECK_THROWS_WITH(sim::Cluster(spec, 32).route(0, 31), Contains("no route from node 0 to node 15"));
  sim::ClusterSpec star = plain_cluster(2, 2);
  star.fabric.link.bandwidth_bytes_per_s = 1e9;
  star.faults = {slow_link("fabric.node0.up", 0)};
  CHECK_THROWS_WITH(sim::Cluster(star, 4), Contains("one route between two nodes"));
}

TEST_CASE("a job on given nodes takes their routes, by rank") {
  sim::ClusterSpec spec = tree_cluster();
  const sim::Cluster all(spec, 32);
  spec.nodes_used = {15, 2, 7};
  const sim::Cluster job(spec, 6);
  CHECK(job.nodes() == 3);
  CHECK(job.link_count() == all.link_count());
  for (int src = 0; src < 6; ++src)
    for (int dst = 0; dst < 6; ++dst) {
      const auto on_all = [&](int gpu) { return 2 * spec.nodes_used[static_cast<std::size_t>(gpu / 2)] + gpu % 2; };
      if (src != dst) CHECK(route_text(job, src, dst) == route_text(all, on_all(src), on_all(dst)));
    }
  CHECK_THROWS(sim::Cluster(spec, 7));
}

TEST_CASE("ECMP: each connection keeps its path; paths are even over connections and differ by hash function") {
  sim::ClusterSpec spec = tree_cluster();
  spec.fabric.routing = sim::Routing::ecmp;
  std::map<std::string, int> connections_of_cable;
  std::set<std::string> paths;
  int connections = 0;
  for (int hash = 1; hash <= 40; ++hash) {
    spec.fabric.hash = hash;
    const sim::Cluster cluster(spec, 32);
    for (int src = 0; src < 8; ++src)
      for (int dst = 8; dst < 32; ++dst) {
        const std::string path = route_text(cluster, src, dst);
        CHECK(path == route_text(cluster, src, dst));
        if (src == 0 && dst == 31) paths.insert(path);
        ++connections;
        for (const int link : cluster.route(src, dst).links)
          if (cluster.link_name(link).rfind("fabric.level1.0.", 0) == 0)
            ++connections_of_cable[cluster.link_name(link)];
      }
  }
  REQUIRE(connections_of_cable.size() == 4);  // uplinks of the first leaf
  // Binomial: standard deviation sqrt(n / 4 * 3 / 4), so that 5 of them are never exceeded.
  for (const auto& [cable, count] : connections_of_cable)
    CHECK(std::abs(count - connections / 4.0) < 5 * std::sqrt(connections * 3 / 16.0));
  CHECK(paths.size() > 4);  // of 4 cables up times 2 down
}

TEST_CASE("messages of SimGrid take the routes and bandwidths of faults, of ECMP and of a job's nodes") {
  for (const bool has_faults : {false, true})
    CHECK(in_child([&] {
            sim::ClusterSpec spec = tree_cluster();
            spec.fabric.routing = sim::Routing::ecmp;
            spec.fabric.hash = 3;
            spec.nodes_used = {15, 2, 7, 0};
            if (has_faults)
              spec.faults = {dead_nic(15, 0), slow_link("node2.nic1", 0.5), slow_link("fabric.level1.0.port1", 0),
                             slow_link("fabric.level1.3.port0.up", 0.125)};
            const sim::Cluster cluster(spec, 8);
            std::vector<Flow> flows;
            double start_s = 0;
            for (int src = 0; src < 8; ++src)
              for (int dst = 0; dst < 8; ++dst)
                if (src != dst) flows.push_back({src, dst, 30'000'000, start_s++});
            const std::vector<double> ends_s = end_times_s(cluster, flows);
            double worst = 0;
            for (std::size_t i = 0; i < flows.size(); ++i) {
              const sim::Route route = cluster.route(flows[i].src, flows[i].dst);
              const double alone_s = route.latency_s + double(flows[i].bytes) / route.bandwidth_bytes_per_s;
              worst = std::max(worst, std::abs((ends_s[i] - flows[i].start_s) / alone_s - 1));
            }
            return std::vector<double>{worst};
          })[0] < 1e-6);
}

TEST_CASE("levels of a fat tree with links of their own: routes pay their latencies, and have the narrowest rate") {
  sim::ClusterSpec spec = tree_cluster();
  spec.fabric.fat_tree = {{2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {{8e9, 1e-6}, {4e9, 10e-6}, {1e9, 3e-3}}};
  const sim::Cluster cluster(spec, 16);
  CHECK(cluster.has_own_routes());
  sim::ClusterSpec uniform = spec;
  uniform.fabric.fat_tree.links.clear();
  uniform.fabric.link.latency_s = 0;
  const sim::Cluster without(uniform, 16);
  for (const auto& [dst, latency_s, bandwidth] :
       {std::tuple{2, 2e-6, 8e9}, std::tuple{4, 22e-6, 4e9}, std::tuple{8, 6.022e-3, 1e9}}) {
    INFO("GPU 0 to GPU " << dst);
    const sim::Route route = cluster.route(0, dst);
    CHECK(route.latency_s - without.route(0, dst).latency_s == Approx(latency_s).epsilon(1e-9));
    CHECK(route.bandwidth_bytes_per_s ==
          Approx(std::min(bandwidth, without.route(0, dst).bandwidth_bytes_per_s)).epsilon(1e-12));
  }
}

}  // namespace lockstep::tests
