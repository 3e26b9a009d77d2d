// Which links a route takes, and what a cluster is made of.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "sim/cluster/fabric.hpp"
#include "sim/cluster/node_layout.hpp"
#include "tests/catch.hpp"
#include "tests/cluster/flows.hpp"
#include "tests/fork.hpp"

namespace lockstep::tests {
namespace {

// "gpu0.pcie.up switch0.up ..." of one node.
std::string path(const sim::NodeLayout& layout, int from, int to) {
  std::string text;
  for (int link : layout.route(from, to))
    text += (text.empty() ? "" : " ") + layout.links()[static_cast<std::size_t>(link)].name;
  return text;
}

bool passes(sim::Cluster& cluster, int src, int dst, const std::string& part) {
  for (int link : cluster.route(src, dst).links)
    if (cluster.link_name(link).find(part) != std::string::npos) return true;
  return false;
}

// Runs `check` in a child; it returns the number of violations.
void check_in_child(const std::function<int()>& check) {
  CHECK(in_child([&] { return std::vector<double>{static_cast<double>(check())}; }) == std::vector<double>{0});
}

const std::vector<sim::FabricSpec>& fabrics() {
  static const std::vector<sim::FabricSpec> all = [] {
    std::vector<sim::FabricSpec> list(4);
    for (sim::FabricSpec& fabric : list) fabric.link = {3e9, 2e-6};
    list[1].kind = sim::FabricKind::fat_tree;
    list[1].fat_tree = {{4, 6}, {1, 2}, {1, 1}};
    list[2].kind = sim::FabricKind::torus;
    list[2].torus = {5, 5};
    list[3].kind = sim::FabricKind::dragonfly;
    list[3].dragonfly = {{3, 1}, {2, 1}, {4, 1}, 1};
    return list;
  }();
  return all;
}

}  // namespace

TEST_CASE("the longest latency of a network counts the links of each level") {
  sim::ClusterSpec spec = plain_cluster(24, 8);
  const auto longest_s = [&](const sim::FabricSpec& fabric, int nodes) {
    spec.fabric = fabric;
    return sim::longest_fabric_latency_s(spec, nodes);
  };
  for (const sim::FabricSpec& fabric : fabrics()) CHECK(longest_s(fabric, 1) == 0);
  CHECK(longest_s(fabrics()[0], 24) == Approx(2e-6));
  CHECK(longest_s(fabrics()[1], 4) == Approx(2 * 2e-6));   // within a leaf
  CHECK(longest_s(fabrics()[1], 24) == Approx(4 * 2e-6));  // over a spine
  CHECK(longest_s(fabrics()[2], 24) == Approx(4 * 2e-6));  // two steps in each of two rings of five
  sim::FabricSpec levels = fabrics()[1];
  levels.fat_tree.links = {{3e9, 1e-6}, {3e9, 5e-6}};
  CHECK(longest_s(levels, 4) == Approx(2e-6));
  CHECK(longest_s(levels, 24) == Approx(2 * (1e-6 + 5e-6)));
}

TEST_CASE("a PCIe tree's routes") {
  sim::ClusterSpec spec = plain_cluster(2, 8);
  const sim::NodeLayout direct(spec);
  CHECK(path(direct, 0, 1) == "gpu0.pcie.up gpu1.pcie.down");
  CHECK(path(direct, 1, 2) == "gpu1.pcie.up switch0.up switch1.down gpu2.pcie.down");
  CHECK(path(direct, 3, 4) == "gpu3.pcie.up switch1.up socket0-1 switch2.down gpu4.pcie.down");
  CHECK(path(direct, 0, direct.port()) == "gpu0.pcie.up nic0.up");
  CHECK(path(direct, direct.port(), 7) == "nic0.down switch0.up socket0-1 switch3.down gpu7.pcie.down");
  CHECK(path(direct, direct.cpu(), 5) == "cpu.up socket0-1 switch2.down gpu5.pcie.down");
  CHECK(path(direct, direct.cpu(), direct.port()) == "cpu.up switch0.down nic0.up");
  CHECK(direct.latency_s(3, 4) == Approx(2 * 4e-7 + 2 * 5e-7 + 6e-7));

  spec.intra_node.pcie.peer_across_sockets = false;
  const sim::NodeLayout staged(spec);
  CHECK(path(staged, 1, 2) == path(direct, 1, 2));
  CHECK(path(staged, 3, 4) == "gpu3.pcie.up switch1.up socket0.memory socket0-1 switch2.down gpu4.pcie.down");
  CHECK(path(staged, 7, staged.port()) == "gpu7.pcie.up switch3.up socket1.memory socket1-0 switch0.down nic0.up");
  CHECK(staged.latency_s(3, 4) == Approx(direct.latency_s(3, 4) + 5e-6));

  // Without peers every message between GPUs goes through memory of the sender's socket, and by a link of the sender's.
  sim::ClusterSpec cards = plain_cluster(2, 8);
  cards.intra_node.pcie.host_staging = {4e9, 4e-7};
  const sim::NodeLayout no_peers(cards);
  CHECK(path(no_peers, 0, 1) == "gpu0.pcie.up gpu0.staging switch0.up socket0.memory switch0.down gpu1.pcie.down");
  CHECK(path(no_peers, 3, 4) ==
        "gpu3.pcie.up gpu3.staging switch1.up socket0.memory socket0-1 switch2.down gpu4.pcie.down");
  CHECK(path(no_peers, 0, no_peers.port()) == path(direct, 0, direct.port()));
  CHECK(path(no_peers, no_peers.cpu(), 5) == path(direct, direct.cpu(), 5));

  spec.nic.gpudirect = false;
  const sim::NodeLayout without_gpudirect(spec);
  CHECK(path(without_gpudirect, 0, without_gpudirect.port()) ==
        "gpu0.pcie.up switch0.up socket0.memory switch0.down nic0.up");
}

TEST_CASE("input's routes: from memory of the GPU's socket, from the port by NIC 0 into memory of its socket") {
  sim::ClusterSpec spec = plain_cluster(2, 8);
  const sim::NodeLayout plain(spec), layout(spec, true);
  REQUIRE(layout.memories() == 2);
  CHECK(plain.memories() == 0);
  CHECK(path(layout, layout.memory(0), 1) == "socket0.loader socket0.memory switch0.down gpu1.pcie.down");
  CHECK(path(layout, layout.memory(1), 7) == "socket1.loader socket1.memory switch3.down gpu7.pcie.down");
  CHECK(path(layout, layout.memory(0), 7).empty());  // no GPU of its socket
  CHECK(path(layout, layout.port(), layout.memory(0)) == "nic0.down switch0.up socket0.memory");
  CHECK(path(layout, layout.port(), layout.memory(1)).empty());
  // All other routes are as without.
  for (int from = 0; from < plain.endpoints(); ++from)
    for (int to = 0; to < plain.endpoints(); ++to) CHECK(path(layout, from, to) == path(plain, from, to));
}

TEST_CASE("a file server has a node of its own, whose links carry what it serves, over every fabric") {
  for (const sim::FabricSpec& fabric : fabrics())
    check_in_child([&] {
      sim::ClusterSpec spec = plain_cluster(3, 8);
      spec.fabric = fabric;
      sim::Cluster cluster(spec, 16, {true, 2.5e9});
      int wrong = cluster.nodes() != 2;
      for (int gpu = 0; gpu < 16; ++gpu) {
        const sim::Cluster::Ends read = cluster.file_read_ends(gpu), copy = cluster.host_copy_ends(gpu);
        const sim::Route over_network = cluster.message_route(read.from, read.to);
        wrong += over_network.bandwidth_bytes_per_s != 2.5e9;
        wrong += cluster.link_name(over_network.links.front()) != "node2.cpu.up";
        wrong += cluster.link_name(over_network.links.back()) != "node" + std::to_string(gpu / 8) + ".socket0.memory";
        wrong += cluster.link_name(cluster.message_route(copy.from, copy.to).links.back()) !=
                 "node" + std::to_string(gpu / 8) + ".gpu" + std::to_string(gpu % 8) + ".pcie.down";
      }
      return wrong;
    });
  CHECK_THROWS(in_child([] {
    sim::Cluster(plain_cluster(2, 8), 16, {true, 2.5e9});  // no third node
    return std::vector<double>{};
  }));
}

TEST_CASE("an NVLink mesh's routes") {
  const sim::ClusterSpec spec = cluster_file("dgx1v");
  const sim::NodeLayout layout(spec);
  CHECK(path(layout, 0, 1) == "gpu0-1.nvlink");
  CHECK(path(layout, 4, 0) == "gpu4-0.nvlink");
  CHECK(path(layout, 0, 5) == "gpu0.pcie.up switch0.up socket0.memory socket0-1 switch2.down gpu5.pcie.down");
  CHECK(path(layout, 5, layout.port()) == "gpu5.pcie.up nic2.up");
  const auto bandwidth = [&](int from, int to) {
    return layout.links()[static_cast<std::size_t>(layout.route(from, to)[0])].bandwidth_bytes_per_s;
  };
  CHECK(bandwidth(0, 3) == 2 * bandwidth(0, 1));
  for (int gpu = 0; gpu < 8; ++gpu) {
    int links = 0;
    for (int peer = 0; peer < 8; ++peer) links += spec.intra_node.mesh.links_between(gpu, peer);
    CHECK(links == 6);  // a V100 has six
  }
}

TEST_CASE("an NVSwitch node's routes") {
  const sim::NodeLayout layout(cluster_file("dgx_h100"));
  CHECK(path(layout, 0, 7) == "gpu0.nvlink.up gpu7.nvlink.down");
  CHECK(path(layout, 3, layout.port()) == "gpu3.pcie.up nic3.up");
  CHECK(path(layout, layout.port(), 6) == "nic6.down gpu6.pcie.down");
}

TEST_CASE("GPUs share the nearest of fewer NICs") {
  sim::ClusterSpec spec = plain_cluster(2, 8);
  spec.nic.per_node = 2;
  spec.nic.attach = {0, 2};
  const sim::NodeLayout layout(spec);
  for (int gpu = 0; gpu < 8; ++gpu)
    CHECK(path(layout, gpu, layout.port()).find(gpu < 4 ? "nic0.up" : "nic1.up") != std::string::npos);
}

TEST_CASE("every route of a host begins with the one link that has SimGrid's raw latency") {
  for (const char* name : {"jizhi_p40_100gbe", "dgx1v", "dgx_a100", "crossbow_8gpu", "theano_mpi_k80_fdr"}) {
    const sim::NodeLayout layout(cluster_file(name));
    for (int from = 0; from < layout.endpoints(); ++from)
      for (int to = 0; to < layout.endpoints(); ++to) {
        const std::vector<int>& links = layout.route(from, to);
        const auto begins = std::count_if(links.begin(), links.end(), [&](int link) {
          return layout.links()[static_cast<std::size_t>(link)].begins_routes;
        });
        CHECK(begins == (links.empty() || from == layout.port() ? 0 : 1));
      }
  }
}

TEST_CASE("a route's bandwidth is that of its narrowest link and its latency is not negative") {
  for (const sim::FabricSpec& fabric : fabrics())
    check_in_child([&fabric] {
      sim::ClusterSpec spec = plain_cluster(24, 4);
      spec.fabric = fabric;
      sim::Cluster cluster(spec, 96);
      int wrong = 0;
      for (int src = 0; src < 96; ++src)
        for (int dst = 0; dst < 96; ++dst) {
          if (src == dst) continue;
          const sim::Route& route = cluster.route(src, dst);
          double narrowest = 1e99;
          for (int link : route.links) narrowest = std::min(narrowest, cluster.link_bandwidth(link));
          wrong += route.links.empty() || route.bandwidth_bytes_per_s != narrowest || !(route.latency_s > 0);
        }
      return wrong;
    });
}

TEST_CASE("routes inside a switch touch neither socket link nor NIC, routes inside a node no NIC") {
  for (const char* name : {"jizhi_p40_100gbe", "theano_mpi_k80_fdr", "dgx1v", "dgx_a100"})
    check_in_child([name] {
      const sim::ClusterSpec spec = cluster_file(name);
      sim::Cluster cluster(spec, 16);
      int wrong = 0;
      for (int src = 0; src < 16; ++src)
        for (int dst = 0; dst < 16; ++dst) {
          if (src == dst) continue;
          const bool same_node = src / 8 == dst / 8;
          wrong += passes(cluster, src, dst, ".nic") == same_node;
          if (same_node && spec.intra_node.pcie.switch_of(src % 8) == spec.intra_node.pcie.switch_of(dst % 8))
            wrong += passes(cluster, src, dst, ".socket");
        }
      return wrong;
    });
}

TEST_CASE("a torus route has as many fabric links as the nodes are apart") {
  check_in_child([] {
    sim::ClusterSpec spec = plain_cluster(25, 1);
    spec.intra_node.pcie.switches = {{0, {0}}};
    spec.fabric = fabrics()[2];
    sim::Cluster cluster(spec, 25);
    int wrong = 0;
    for (int src = 0; src < 25; ++src)
      for (int dst = 0; dst < 25; ++dst) {
        if (src == dst) continue;
        const int x = std::abs(src % 5 - dst % 5), y = std::abs(src / 5 - dst / 5);
        const int apart = std::min(x, 5 - x) + std::min(y, 5 - y);
        wrong += static_cast<int>(cluster.route(src, dst).links.size()) != 4 + apart;  // + GPU and NIC at both ends
      }
    return wrong;
  });
}

TEST_CASE("part of a cluster, and more than it has") {
  check_in_child([] {
    sim::Cluster cluster(cluster_file("jizhi_p40_100gbe"), 20);
    return (cluster.gpus() != 20) + (cluster.nodes() != 3) + (cluster.node_of(19) != 2) +
           (sim::Platform::of(cluster).cpu_host(2) == nullptr) + (sim::Platform::of(cluster).gpu_host(19) == nullptr);
  });
  CHECK_THROWS_WITH(in_child([]() -> std::vector<double> {
                      sim::Cluster cluster(cluster_file("crossbow_8gpu"), 9);
                      return {};
                    }),
                    "cluster \"Crossbow: 8 x GTX Titan X\" has no 9 GPUs, but 8");
}

TEST_CASE("the overhead of a message depends on whether it stays in its node") {
  check_in_child([] {
    sim::Cluster cluster(plain_cluster(2, 4), 8);
    const double inside_s = cluster.message_latency_s(0, 1), outside_s = cluster.message_latency_s(0, 4);
    cluster.set_message_overhead({1e-6, 1e-5});
    return (cluster.message_latency_s(0, 1) != inside_s + 1e-6) + (cluster.message_latency_s(0, 4) != outside_s + 1e-5);
  });
}

TEST_CASE("every cluster file builds at its full size") {
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/clusters")) {
    INFO(entry.path().stem());
    check_in_child([&entry] {
      const sim::ClusterSpec spec = cluster_file(entry.path().stem());
      const int gpus = spec.nodes * spec.gpus_per_node;
      sim::Cluster cluster(spec, gpus);
      return cluster.route(0, gpus - 1).links.empty() ? 1 : 0;
    });
  }
}

// The law of this folder: what is said of a route is what SimGrid's messages take. Every link of ours stands for one of
// SimGrid's, and the other way round.
TEST_CASE("routes by formula are SimGrid's, link by link, over every fabric") {
  std::vector<sim::FabricSpec> all = fabrics();
  all.resize(7, all[1]);
  all[4].fat_tree = {{4, 3, 2}, {1, 2, 3}, {1, 1, 2}};  // parallel cables
  all[5].fat_tree = {{4, 3, 2}, {2, 2, 2}, {2, 1, 3}};
  all[6].kind = sim::FabricKind::torus;
  all[6].torus = {2, 3, 4};
  all.push_back(all[3]);
  all[7].dragonfly = {{2, 2}, {3, 2}, {2, 3}, 2};
  for (std::size_t fabric = 0; fabric < all.size(); ++fabric) {
    INFO("fabric " << fabric);
    check_in_child([&] {
      sim::ClusterSpec spec = plain_cluster(24, 2);
      spec.fabric = all[fabric];
      const sim::Cluster cluster(spec, 48);
      const sim::Platform& platform = sim::Platform::of(cluster);
      std::map<const simgrid::s4u::Link*, int> ours;
      std::map<int, const simgrid::s4u::Link*> theirs;
      int wrong = 0;
      for (int src = 0; src < 48; ++src)
        for (int dst = 0; dst < 48; ++dst) {
          if (src == dst) continue;
          std::vector<simgrid::s4u::Link*> links;
          double latency_s = 0;
          platform.gpu_host(src)->route_to(platform.gpu_host(dst), links, &latency_s);
          const sim::Route route = cluster.route(src, dst);
          if (links.size() != route.links.size()) return 1000000 + src * 48 + dst;
          for (std::size_t i = 0; i < links.size(); ++i) {
            wrong += ours.emplace(links[i], route.links[i]).first->second != route.links[i];
            wrong += theirs.emplace(route.links[i], links[i]).first->second != links[i];
            wrong += std::fabs(links[i]->get_bandwidth() / cluster.link_bandwidth(route.links[i]) - 1) > 1e-12;
          }
        }
      return wrong;
    });
  }
}

TEST_CASE("a cluster of 65,536 GPUs is described, not built: any number takes the same few bytes") {
  sim::ClusterSpec spec = cluster_file("dgx_h100");
  spec.nodes = 1 << 20;
  spec.fabric.kind = sim::FabricKind::star;
  const sim::Cluster small(spec, 16), large(spec, 1 << 23);
  CHECK(large.route(0, (1 << 23) - 1).links.size() == small.route(0, 15).links.size());
  CHECK(large.route(0, (1 << 23) - 1).latency_s == small.route(0, 15).latency_s);
  CHECK(large.link_name(large.route(0, (1 << 23) - 1).links.back()) == "node1048575.gpu7.pcie.down");
}

}  // namespace lockstep::tests
