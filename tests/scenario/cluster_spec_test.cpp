// Cluster files: what is read, and the exact line that each mistake gets.
#include <algorithm>
#include <filesystem>

#include "sim/scenario/cluster_spec.hpp"
#include "tests/base/input_error.hpp"
#include "tests/catch.hpp"

namespace lockstep::sim {
namespace {

// Two nodes of four GPUs, the smallest that has every part.
Json base() {
  return Json::parse(R"({
    "schema": "lockstep/cluster/1", "name": "test", "nodes": 2, "gpus_per_node": 4,
    "gpu": {"name": "G", "memory": "16 GB", "memory_bandwidth": "900 GB/s", "peak": {"fp32": "10 TFLOP/s"}},
    "host": {"memory_bandwidth": "40 GB/s"},
    "intra_node": {"kind": "pcie-tree",
                   "switches": [{"socket": 0, "gpus": [0, 1]}, {"socket": 1, "gpus": [2, 3]}],
                   "gpu_link": {"bandwidth": "12 GB/s", "latency": "1 us"},
                   "switch_uplink": {"bandwidth": "12 GB/s", "latency": "1 us"},
                   "socket_link": {"bandwidth": "16 GB/s", "latency": "1 us"}},
    "nic": {"per_node": 1, "bandwidth": "100 Gbit/s", "latency": "1 us", "gpudirect": true, "attach": [1]},
    "fabric": {"kind": "star", "latency": "1 us"}})");
}

ClusterSpec read(const Json& json) {
  return read_cluster(JsonDocument::parse(json.dump(), "c.json").root());
}

Json changed(const std::string& pointer, const std::string& value) {
  Json json = base();
  json[Json::json_pointer(pointer)] = Json::parse(value);
  return json;
}

Json without(const std::string& parent, const std::string& key) {
  Json json = base();
  json[Json::json_pointer(parent)].erase(key);
  return json;
}

const char* const kMesh = R"({"kind": "nvlink-mesh", "link": {"bandwidth": "25 GB/s", "latency": "1 us"},
  "links": [[0, 1, 2], [2, 3, 1]], "pcie": {"switches": [{"socket": 0, "gpus": [0, 1, 2, 3]}],
  "gpu_link": {"bandwidth": "12 GB/s", "latency": "1 us"}, "switch_uplink": {"bandwidth": "12 GB/s", "latency": "1 us"}}})";

Json mesh(const std::string& links) {
  Json json = changed("/intra_node", kMesh);
  json["nic"]["attach"] = {0};
  json["intra_node"]["links"] = Json::parse(links);
  return json;
}

Json nvswitch() {
  Json json = changed("/intra_node", R"({"kind": "nvswitch", "gpu_link": {"bandwidth": "450 GB/s", "latency": "1 us"},
                                        "pcie_link": {"bandwidth": "50 GB/s", "latency": "1 us"}})");
  json["nic"].erase("attach");
  return json;
}

Json fabric(const std::string& text) {
  return changed("/fabric", text);
}

struct Mistake {
  Json json;
  std::string error;
};

void check(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) CHECK(error_of([&] { read(mistake.json); }) == "c.json: " + mistake.error);
}

}  // namespace

TEST_CASE("a cluster is read into SI units") {
  const ClusterSpec spec = read(base());
  CHECK(spec.name == "test");
  CHECK(spec.nodes == 2);
  CHECK(spec.gpus_per_node == 4);
  CHECK(spec.gpu.memory_bytes == 16e9);
  CHECK(spec.gpu.peak_flops(Precision::fp32) == 10e12);
  CHECK(spec.gpu.peak_flops(Precision::bf16) == 0);
  CHECK(spec.gpu.peak_flops(Precision::mixed) == 10e12);
  CHECK(spec.host.memory_bandwidth_bytes_per_s == 40e9);
  CHECK(spec.host.memory_latency_s == 0);
  CHECK(spec.intra_node.kind == IntraNodeKind::pcie_tree);
  CHECK(spec.intra_node.pcie.switch_of(2) == 1);
  CHECK(spec.intra_node.pcie.sockets() == 2);
  CHECK(spec.intra_node.pcie.peer_across_sockets);
  CHECK(spec.intra_node.pcie.gpu_link.latency_s == 1e-6);
  CHECK(spec.nic.link.bandwidth_bytes_per_s == 12.5e9);
  CHECK(spec.fabric.link.bandwidth_bytes_per_s == 12.5e9);  // the NIC's
}

TEST_CASE("a GPU copies to the host over its own link, or over its PCIe path") {
  Json json = nvswitch();
  CHECK(read(json).host_link_bytes_per_s() == read(json).intra_node.pcie.gpu_link.bandwidth_bytes_per_s);
  json["gpu"]["host_link"] = "225 GB/s";
  CHECK(read(json).host_link_bytes_per_s() == 225e9);
}

TEST_CASE("a fabric's links default to all NICs of a node") {
  Json json = nvswitch();
  json["nic"]["per_node"] = 4;
  CHECK(read(json).fabric.link.bandwidth_bytes_per_s == 50e9);
  json["fabric"]["bandwidth"] = "200 Gbit/s";
  CHECK(read(json).fabric.link.bandwidth_bytes_per_s == 25e9);
  CHECK(read(json).intra_node.pcie.gpu_link.bandwidth_bytes_per_s == 50e9);
}

TEST_CASE("NVLink pairs have no direction") {
  const ClusterSpec spec = read(mesh("[[0, 1, 2], [3, 2, 1]]"));
  CHECK(spec.intra_node.mesh.links_between(1, 0) == 2);
  CHECK(spec.intra_node.mesh.links_between(2, 3) == 1);
  CHECK(spec.intra_node.mesh.links_between(0, 2) == 0);
}

TEST_CASE("the two forms of a fat tree") {
  const FabricSpec leaves =
      read(fabric(R"({"kind": "fat-tree", "latency": "1 us", "leaf_nodes": 16, "oversubscription": 2})")).fabric;
  CHECK(leaves.fat_tree.down == std::vector<int>{16, 1});
  CHECK(leaves.fat_tree.up == std::vector<int>{1, 8});
  CHECK(leaves.places() == 16);
  const FabricSpec levels = read(fabric(R"({"kind": "fat-tree", "latency": "1 us",
      "levels": {"down": [4, 3, 2], "up": [1, 2, 2], "count": [1, 1, 2]}})"))
                                .fabric;
  CHECK(levels.places() == 24);
  CHECK(levels.fat_tree.links.empty());
  const FabricSpec own = read(fabric(R"({"kind": "fat-tree", "latency": "1 us",
      "levels": {"down": [4, 6], "up": [1, 1], "count": [1, 1], "bandwidth": ["50 GB/s", "5 GB/s"]}})"))
                             .fabric;
  REQUIRE(own.fat_tree.links.size() == 2);
  CHECK(own.fat_tree.links[1].bandwidth_bytes_per_s == 5e9);
  CHECK(own.fat_tree.links[1].latency_s == Approx(1e-6));
}

TEST_CASE("a single server needs no network") {
  Json json = changed("/nodes", "1");
  json.erase("nic");
  json.erase("fabric");
  CHECK(read(json).nic.per_node == 0);
  json["nodes"] = 2;
  CHECK(error_of([&] { read(json); }) == "c.json: /: missing key \"nic\"");
}

TEST_CASE("values carry their sources into the ledger") {
  Json json = base();
  json["nic"]["bandwidth"] = {{"value", "10 GB/s"}, {"kind", "measured"}, {"source", "a benchmark"}};
  const JsonDocument document = JsonDocument::parse(json.dump(), "c.json");
  read_cluster(document.root());
  const auto& noted = document.assumptions();
  const auto nic =
      std::find_if(noted.begin(), noted.end(), [](const auto& a) { return a.pointer == "/nic/bandwidth"; });
  REQUIRE(nic != noted.end());
  CHECK(nic->kind == "measured");
  CHECK(nic->source == "a benchmark");
}

TEST_CASE("every committed cluster file is read, and says where each value comes from") {
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/clusters")) {
    INFO(entry.path());
    const JsonDocument document = JsonDocument::load(entry.path());
    REQUIRE_NOTHROW(read_cluster(document.root()));
    for (const Assumption& assumption : document.assumptions()) {
      INFO(assumption.pointer);
      CHECK(assumption.source.rfind("given in", 0) != 0);
    }
  }
}

TEST_CASE("mistakes at the top") {
  check({
      {changed("/schema", R"("lockstep/cluster/2")"),
       "/schema: \"lockstep/cluster/2\" is unknown; allowed: lockstep/cluster/1"},
      {changed("/colour", "1"),
       "/: unknown key \"colour\"; known: schema, $schema, name, description, nodes, gpus_per_node, gpu, "
       "host, profile, intra_node, nic, fabric, "
       "nodes_used, faults"},
      {changed("/nodes", "0"), "/nodes: value 0 is out of range; allowed: 1 to 1048576"},
      {changed("/nodes", "2.5"), "/nodes: expected a whole number, got 2.5; allowed: 1 to 1048576"},
      {changed("/nodes", R"({"value": 2.5, "kind": "assumed", "source": "s"})"),
       "/nodes/value: expected a whole number, got 2.5; allowed: 1 to 1048576"},
      {changed("/gpus_per_node", "129"), "/gpus_per_node: value 129 is out of range; allowed: 1 to 128"},
      {without("/gpu", "memory"), "/gpu: missing key \"memory\""},
      {without("/gpu/peak", "fp32"), "/gpu/peak: missing key \"fp32\""},
      {changed("/gpu/peak/fp2", R"("1 TFLOP/s")"),
       "/gpu/peak: unknown key \"fp2\"; known: fp32, tf32, fp16, bf16, fp8, fp4"},
      {changed("/host/memory_bandwidth", "40"),
       "/host/memory_bandwidth: missing unit; allowed: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, bit/s, "
       "kbit/s, Mbit/s, Gbit/s, Tbit/s, b/s, bps, kb/s, kbps, Mb/s, Mbps, Gb/s, Gbps, Tb/s, Tbps"},
  });
}

TEST_CASE("mistakes inside the node") {
  check({
      {changed("/intra_node/kind", R"("pci")"),
       "/intra_node/kind: \"pci\" is unknown; allowed: pcie-tree, nvlink-mesh, nvswitch"},
      {changed("/intra_node/switches/1/gpus", "[1, 3]"), "/intra_node/switches/1/gpus/0: GPU 1 is already at switch 0"},
      {changed("/intra_node/switches/1/gpus", "[2]"),
       "/intra_node/switches: GPU 3 is at no switch; allowed: every GPU from 0 to 3 at one switch"},
      {changed("/intra_node/switches/1/gpus", "[2, 4]"),
       "/intra_node/switches/1/gpus/1: value 4 is out of range; allowed: 0 to 3"},
      {without("/intra_node", "socket_link"), "/intra_node: missing key \"socket_link\""},
      {changed("/intra_node/gpu_link/latency", R"("2 s")"),
       "/intra_node/gpu_link/latency: value 2 s is out of range; allowed: 0 to 1 s"},
      {changed("/intra_node/gpu_link/latncy", R"("2 s")"),
       "/intra_node/gpu_link: unknown key \"latncy\"; known: bandwidth, latency"},
      {mesh("[[0, 1]]"), "/intra_node/links/0: expected 3 numbers, got 2; allowed: [GPU, GPU, number of links]"},
      {mesh("[[1, 1, 2]]"), "/intra_node/links/0: GPU 1 is linked to itself"},
      {mesh("[[0, 1, 2], [1, 0, 1]]"),
       "/intra_node/links/1: GPUs 1 and 0 are already linked; allowed: one entry with the number of links"},
      {mesh("[[0, 4, 1]]"), "/intra_node/links/0/1: value 4 is out of range; allowed: 0 to 3"},
  });
}

TEST_CASE("mistakes in the network") {
  Json attached = nvswitch();
  attached["nic"]["attach"] = {0};
  check({
      {changed("/nic/attach", "[2]"), "/nic/attach/0: value 2 is out of range; allowed: 0 to 1"},
      {changed("/nic/attach", "[0, 1]"), "/nic/attach: 2 switches for 1 NICs; allowed: one per NIC"},
      {without("/nic", "attach"), "/nic: missing key \"attach\""},
      {attached, "/nic/attach: an nvswitch node has no PCIe switches to attach NICs to"},
      {changed("/nic/per_node", "5"), "/nic/per_node: value 5 is out of range; allowed: 1 to 4"},
      {changed("/nic/gpudirect", "1"), "/nic/gpudirect: expected a boolean, got a number; allowed: true, false"},
      {changed("/nic/bandwidth", R"("1 B/s")"),
       "/nic/bandwidth: value 1 B/s is out of range; allowed: 1000 to 1e+14 B/s"},
      {fabric(R"({"kind": "mesh", "latency": "1 us"})"),
       "/fabric/kind: \"mesh\" is unknown; allowed: star, fat-tree, torus, dragonfly"},
      {fabric(R"({"kind": "star", "latency": "1 us", "dimensions": [2]})"),
       "/fabric: unknown key \"dimensions\"; known: kind, latency, bandwidth"},
      {fabric(R"({"kind": "torus", "latency": "1 us", "dimensions": [1, 1]})"),
       "/fabric: places for 1 nodes, but the cluster has 2"},
      {fabric(R"({"kind": "torus", "latency": "1 us", "dimensions": []})"),
       "/fabric/dimensions: 0 numbers; allowed: 1 to 8"},
      {fabric(R"({"kind": "torus", "latency": "1 us", "dimensions": [4096, 4096]})"),
       "/fabric/dimensions/1: more than 2097152 places in all"},
      {fabric(R"({"kind": "fat-tree", "latency": "1 us", "levels": {"down": [4, 2], "up": [1], "count": [1, 1]}})"),
       "/fabric/levels/up: 1 levels, but \"down\" has 2"},
      {fabric(R"({"kind": "fat-tree", "latency": "1 us",
                  "levels": {"down": [4, 2], "up": [1, 1], "count": [1, 1], "latency": ["1 us"]}})"),
       "/fabric/levels/latency: 1 levels, but \"down\" has 2"},
      {fabric(R"({"kind": "fat-tree", "latency": "1 us", "leaf_nodes": 16, "oversubscription": 3})"),
       "/fabric/oversubscription: 3 does not divide \"leaf_nodes\", 16"},
      {fabric(R"({"kind": "fat-tree", "latency": "1 us", "leaf_nodes": 16,
                  "levels": {"down": [4], "up": [1], "count": [1]}})"),
       "/fabric/leaf_nodes: given beside \"levels\"; allowed: one of the two forms"},
      {fabric(R"({"kind": "dragonfly", "latency": "1 us", "groups": [4, 1], "chassis": [1, 1], "routers": [3, 1],
                  "nodes": 1})"),
       "/fabric/groups: 4 groups need as many routers in a chassis; allowed: up to 3"},
      {fabric(R"({"kind": "dragonfly", "latency": "1 us", "groups": [4], "chassis": [1, 1], "routers": [3, 1],
                  "nodes": 1})"),
       "/fabric/groups: expected 2 numbers, got 1; allowed: [count, links]"},
  });
}

}  // namespace lockstep::sim
