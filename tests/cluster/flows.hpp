#pragma once
// Messages on a cluster, as tests state them.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "sim/messages/platform.hpp"
#include "sim/messages/simgrid_compat.hpp"

namespace lockstep::tests {

struct Flow {
  int src;
  int dst;
  std::uint64_t bytes;
  double start_s = 0;
};

/// Runs all flows in the process's one simulation; when each ended, s.
inline std::vector<double> end_times_s(const sim::Cluster& cluster, const std::vector<Flow>& flows) {
  namespace sg4 = simgrid::s4u;
  sim::Platform& platform = sim::Platform::of(cluster);
  std::vector<double> ends_s(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    sg4::Mailbox* const box = sg4::Mailbox::by_name("flow" + std::to_string(i));
    sim::compat::add_actor("send", platform.gpu_host(flows[i].src), [box, flow = flows[i]] {
      static int payload = 0;
      sg4::this_actor::sleep_until(flow.start_s);
      box->put(&payload, flow.bytes);
    });
    sim::compat::add_actor("receive", platform.gpu_host(flows[i].dst), [box, &ends_s, i] {
      box->get<int>();
      ends_s[i] = sg4::Engine::get_clock();
    });
  }
  sg4::Engine::get_instance()->run();
  return ends_s;
}

inline sim::ClusterSpec cluster_file(const std::string& name) {
  const JsonDocument document = JsonDocument::load(LOCKSTEP_SOURCE_DIR "/scenarios/clusters/" + name + ".json");
  return sim::read_cluster(document.root());
}

/// Nodes of `gpus` GPUs on PCIe in two sockets, a switch of two GPUs each, one NIC at switch 0, in a star. Every kind
/// of link has another bandwidth and latency.
inline sim::ClusterSpec plain_cluster(int nodes, int gpus) {
  sim::ClusterSpec spec;
  spec.name = "plain";
  spec.nodes = nodes;
  spec.gpus_per_node = gpus;
  spec.host = {4e10, 5e-6, 0};
  for (int gpu = 0; gpu < gpus; gpu += 2) {
    spec.intra_node.pcie.switches.push_back({2 * gpu < gpus ? 0 : 1, {gpu}});
    if (gpu + 1 < gpus) spec.intra_node.pcie.switches.back().gpus.push_back(gpu + 1);
  }
  spec.intra_node.pcie.gpu_link = {12e9, 4e-7};
  spec.intra_node.pcie.switch_uplink = {11e9, 5e-7};
  spec.intra_node.pcie.socket_link = {9e9, 6e-7};
  spec.nic = {1, {5e9, 1e-6}, true, {0}};
  spec.fabric.link = {5e9, 2e-6};
  return spec;
}

}  // namespace lockstep::tests
