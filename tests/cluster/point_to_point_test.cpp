// Law: a message that is alone takes latency + bytes / bandwidth of the narrowest link on its route, whatever the
// cluster, the pair and the size.
#include <algorithm>
#include <filesystem>
#include <random>

#include "tests/catch.hpp"
#include "tests/cluster/flows.hpp"
#include "tests/fork.hpp"

namespace lockstep::tests {
namespace {

std::vector<std::string> cluster_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/scenarios/clusters"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

// Random pairs, sizes from 1 byte to 1 GB (log-uniform), one message at a time.
std::vector<Flow> random_flows(int gpus, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> gpu(0, gpus - 1);
  std::uniform_real_distribution<double> exponent(0, 9);
  std::vector<Flow> flows;
  while (static_cast<int>(flows.size()) < count) {
    const int src = gpu(random), dst = gpu(random);
    if (src == dst) continue;
    flows.push_back({src, dst, static_cast<std::uint64_t>(std::pow(10, exponent(random))),
                     2.0 * static_cast<double>(flows.size())});
  }
  return flows;
}

double expected_s(sim::Cluster& cluster, const Flow& flow) {
  return cluster.message_latency_s(flow.src, flow.dst) +
         static_cast<double>(flow.bytes) / cluster.route(flow.src, flow.dst).bandwidth_bytes_per_s;
}

// Returns for every flow the time that it took, then the expected time.
std::vector<double> taken_and_expected_s(const sim::ClusterSpec& spec, int gpus, int count) {
  return in_child([&] {
    sim::Cluster cluster(spec, gpus);
    cluster.set_message_overhead({3e-6, 7e-6});
    const std::vector<Flow> flows = random_flows(gpus, count, 7);
    std::vector<double> times_s = end_times_s(cluster, flows);
    for (std::size_t i = 0; i < flows.size(); ++i) times_s[i] -= flows[i].start_s;
    for (const Flow& flow : flows) times_s.push_back(expected_s(cluster, flow));
    return times_s;
  });
}

void check_exact(const std::vector<double>& times_s) {
  const std::size_t count = times_s.size() / 2;
  REQUIRE(count > 0);
  for (std::size_t i = 0; i < count; ++i)
    CHECK(std::fabs(times_s[i] - times_s[count + i]) <= 1e-9 * times_s[count + i] + 3e-13);  // a clock at up to 400 s
}

}  // namespace

TEST_CASE("a message alone takes latency + bytes/bandwidth on every cluster file") {
  for (const std::string& name : cluster_names()) {
    INFO(name);
    const sim::ClusterSpec spec = cluster_file(name);
    const int gpus = std::min(spec.nodes, 40) * spec.gpus_per_node;
    if (gpus > 1) check_exact(taken_and_expected_s(spec, gpus, 100));
  }
}

TEST_CASE("a message alone takes latency + bytes/bandwidth on every fabric") {
  sim::ClusterSpec spec = plain_cluster(24, 4);
  spec.fabric.link = {3e9, 2e-6};
  SECTION("star with ports narrower than the NICs") {}
  SECTION("fat tree") {
    spec.fabric.kind = sim::FabricKind::fat_tree;
    spec.fabric.fat_tree = {{4, 3, 2}, {1, 2, 3}, {1, 1, 2}};
  }
  SECTION("torus") {
    spec.fabric.kind = sim::FabricKind::torus;
    spec.fabric.torus = {4, 3, 2};
  }
  SECTION("dragonfly") {
    spec.fabric.kind = sim::FabricKind::dragonfly;
    spec.fabric.dragonfly = {{3, 2}, {2, 1}, {4, 1}, 1};
  }
  check_exact(taken_and_expected_s(spec, 96, 200));
}

TEST_CASE("a message alone takes latency + bytes/bandwidth where data is staged") {
  sim::ClusterSpec spec = plain_cluster(4, 8);
  spec.nic.gpudirect = false;
  spec.intra_node.pcie.peer_across_sockets = false;
  check_exact(taken_and_expected_s(spec, 32, 200));
}

TEST_CASE("the network model is the one that was asked for") {
  REQUIRE_NOTHROW(in_child([] {
    sim::verify_network_model();
    return std::vector<double>{};
  }));
}

}  // namespace lockstep::tests
