// Laws of sharing: flows on a link get equal parts of it whatever their latencies; directions do not share.
#include "tests/catch.hpp"
#include "tests/cluster/flows.hpp"
#include "tests/fork.hpp"

namespace lockstep::tests {
namespace {

constexpr std::uint64_t kBytes = 100000000;

std::vector<double> run(const sim::ClusterSpec& spec, int gpus, const std::vector<Flow>& flows) {
  return in_child([&] {
    sim::Cluster cluster(spec, gpus);
    return end_times_s(cluster, flows);
  });
}

}  // namespace

TEST_CASE("two flows of different latency share a link evenly") {
  // Into GPU 1: from its own switch (0.8 us), and from the other socket (2.4 us), over its link of 12 GB/s.
  sim::ClusterSpec spec = plain_cluster(1, 4);
  spec.intra_node.pcie.socket_link.bandwidth_bytes_per_s = 12e9;
  spec.intra_node.pcie.switch_uplink.bandwidth_bytes_per_s = 12e9;
  spec.intra_node.pcie.socket_link.latency_s = 1e-3;
  const std::vector<double> ends_s = run(spec, 4, {{0, 1, kBytes}, {2, 1, kBytes}});
  // The near flow has 12 GB/s while the far one has not started, for 1.001 ms of latency; then both have 6 GB/s. When
  // the near one ends, the far one has the whole bandwidth.
  const double near_latency_s = 2 * 4e-7, far_latency_s = 2 * 4e-7 + 2 * 5e-7 + 1e-3;
  const double alone_bytes = (far_latency_s - near_latency_s) * 12e9;
  const double near_end_s = far_latency_s + (kBytes - alone_bytes) / 6e9;
  CHECK(ends_s[0] == Approx(near_end_s).epsilon(1e-9));
  CHECK(ends_s[1] == Approx(near_latency_s + 2.0 * kBytes / 12e9).epsilon(1e-9));
}

TEST_CASE("a flow without latency shares evenly with one that has some") {
  sim::ClusterSpec spec = plain_cluster(1, 4);
  spec.intra_node.pcie.gpu_link.latency_s = 0;
  spec.intra_node.pcie.switch_uplink = {24e9, 0.01};
  spec.intra_node.pcie.socket_link = {24e9, 0};
  const std::vector<double> ends_s = run(spec, 4, {{0, 1, 3 * kBytes}, {2, 1, 3 * kBytes}});
  const double alone_s = 0.02;
  CHECK(ends_s[0] == Approx(alone_s + (3.0 * kBytes - alone_s * 12e9) / 6e9).epsilon(1e-9));
}

TEST_CASE("n flows through one NIC get 1/n each") {
  for (int n : {1, 2, 3, 8}) {
    std::vector<Flow> flows;
    for (int gpu = 0; gpu < n; ++gpu) flows.push_back({gpu, 8 + 8 * gpu + gpu, kBytes});
    sim::ClusterSpec spec = plain_cluster(9, 8);
    spec.intra_node.pcie.socket_link.latency_s = 0;
    spec.intra_node.pcie.switch_uplink.latency_s = 0;  // all arrive at the NIC at once
    const std::vector<double> ends_s = run(spec, 72, flows);
    for (double end_s : ends_s) CHECK(end_s == Approx(2 * 4e-7 + 2 * 1e-6 + 2e-6 + n * kBytes / 5e9).epsilon(1e-9));
  }
}

TEST_CASE("opposite directions do not share") {
  const sim::ClusterSpec spec = plain_cluster(2, 4);
  const double alone_s = run(spec, 8, {{0, 4, kBytes}})[0];
  const double across_s = run(spec, 8, {{0, 3, kBytes}})[0];
  for (double end_s : run(spec, 8, {{0, 4, kBytes}, {4, 0, kBytes}})) CHECK(end_s == Approx(alone_s).epsilon(1e-12));
  for (double end_s : run(spec, 8, {{0, 3, kBytes}, {3, 0, kBytes}})) CHECK(end_s == Approx(across_s).epsilon(1e-12));
}

TEST_CASE("an oversubscribed fat tree halves the bandwidth when all nodes of a leaf send out") {
  sim::ClusterSpec spec = plain_cluster(32, 1);
  spec.intra_node.pcie.switches = {{0, {0}}};
  spec.fabric.kind = sim::FabricKind::fat_tree;
  spec.fabric.fat_tree = {{16, 2}, {1, 8}, {1, 1}};
  std::vector<Flow> flows;
  for (int node = 0; node < 16; ++node) flows.push_back({node, 16 + node, kBytes});
  const double full_s = run(spec, 32, {flows[0]})[0];
  for (double end_s : run(spec, 32, flows)) CHECK(end_s == Approx(full_s + kBytes / 5e9).epsilon(1e-9));
  // Within the leaf there is room for all.
  for (Flow& flow : flows) flow.dst = (flow.src + 1) % 16;
  for (double end_s : run(spec, 32, flows)) CHECK(end_s < full_s);
}

TEST_CASE("a ring over the nodes of a full-bisection fat tree runs at full speed") {
  sim::ClusterSpec spec = plain_cluster(32, 1);
  spec.intra_node.pcie.switches = {{0, {0}}};
  spec.fabric.kind = sim::FabricKind::fat_tree;
  spec.fabric.fat_tree = {{8, 4}, {1, 8}, {1, 1}};
  std::vector<Flow> flows;
  for (int node = 0; node < 32; ++node) flows.push_back({node, (node + 1) % 32, kBytes});
  const double slowest_s = run(spec, 32, {flows[7]})[0];
  for (double end_s : run(spec, 32, flows)) CHECK(end_s <= slowest_s * (1 + 1e-12));
}

TEST_CASE("a simulation that deadlocks fails") {
  REQUIRE_THROWS_WITH(in_child([]() -> std::vector<double> {
                        sim::Cluster cluster(plain_cluster(1, 2), 2);
                        sim::compat::add_actor("waits", sim::Platform::of(cluster).gpu_host(0),
                                               [] { simgrid::s4u::Mailbox::by_name("nobody")->get<int>(); });
                        simgrid::s4u::Engine::get_instance()->run();
                        return {1.0};
                      }),
                      "the simulation deadlocked: every actor waits");
}

TEST_CASE("a second platform in a process is refused") {
  REQUIRE_THROWS_WITH(in_child([]() -> std::vector<double> {
                        const sim::Cluster first(plain_cluster(1, 2), 2), second(plain_cluster(1, 2), 2);
                        sim::Platform::of(first);
                        sim::Platform::of(second);
                        return {};
                      }),
                      "a process can run one simulation: SimGrid is already started");
}

}  // namespace lockstep::tests
