#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/messages/platform.hpp"
#include "sim/messages/simgrid_compat.hpp"

namespace lockstep::sim::messages {
namespace {

namespace sg4 = simgrid::s4u;

struct Probe {
  int src;
  int dst;
  std::uint64_t bytes;
};

// Two nodes of two GPUs; all figures differ in their powers of ten, so that errors are visible.
ClusterSpec probe_cluster() {
  ClusterSpec spec;
  spec.name = "network check";
  spec.nodes = 2;
  spec.gpus_per_node = 2;
  spec.host.memory_bandwidth_bytes_per_s = 4e10;
  spec.intra_node.pcie.switches = {{0, {0, 1}}};
  spec.intra_node.pcie.gpu_link = {1.3e10, 3e-7};
  spec.intra_node.pcie.switch_uplink = {1.3e10, 3e-7};
  spec.nic.per_node = 1;
  spec.nic.link = {1.25e9, 2.1e-6};
  spec.nic.attach = {0};
  spec.fabric.link = {1.25e9, 7e-7};
  return spec;
}

// Sends one message after the other and returns their times.
std::vector<double> probe_times_s(const Platform& platform, const std::vector<Probe>& probes) {
  std::vector<double> times_s(probes.size());
  for (std::size_t i = 0; i < probes.size(); ++i) {
    sg4::Mailbox* const box = sg4::Mailbox::by_name("probe" + std::to_string(i));
    compat::add_actor("send", platform.gpu_host(probes[i].src), [box, bytes = probes[i].bytes, i] {
      static int payload = 0;
      sg4::this_actor::sleep_until(static_cast<double>(i + 1));
      box->put(&payload, bytes);
    });
    compat::add_actor("receive", platform.gpu_host(probes[i].dst), [box, &times_s, i] {
      box->get<int>();
      times_s[i] = sg4::Engine::get_clock() - static_cast<double>(i + 1);
    });
  }
  sg4::Engine::get_instance()->run();
  return times_s;
}

}  // namespace

void verify_network_model() {
  const Cluster cluster(probe_cluster(), 4);
  const std::vector<Probe> probes{{0, 1, 1}, {0, 1, 100000000}, {0, 3, 1}, {0, 3, 1000}, {2, 1, 100000000}};
  const std::vector<double> times_s = probe_times_s(Platform::of(cluster), probes);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const auto [src, dst, bytes] = probes[i];
    const double expected_s = cluster.message_latency_s(src, dst) +
                              static_cast<double>(bytes) / cluster.route(src, dst).bandwidth_bytes_per_s;
    // The clock is at up to 6 s, so its last digit is 1e-15 s.
    if (std::fabs(times_s[i] - expected_s) > 1e-9 * expected_s + 1e-12)
      throw std::runtime_error("SimGrid does not run the network model it was told to: " + std::to_string(bytes) +
                               " bytes took " + std::to_string(times_s[i] * 1e6) + " us, expected " +
                               std::to_string(expected_s * 1e6) + " us");
  }
}

}  // namespace lockstep::sim::messages
