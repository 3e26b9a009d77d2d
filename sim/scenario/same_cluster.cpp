#include "sim/scenario/same_cluster.hpp"

#include <tuple>

namespace lockstep::sim::scenario {
namespace {

template <class T, class Same>
bool are_same(const std::vector<T>& a, const std::vector<T>& b, const Same& is_same_element) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!is_same_element(a[i], b[i])) return false;
  return true;
}

bool is_same(const LinkSpec& a, const LinkSpec& b) {
  return a.bandwidth_bytes_per_s == b.bandwidth_bytes_per_s && a.latency_s == b.latency_s;
}

bool is_same(const GpuSpec& a, const GpuSpec& b) {
  const auto facts = [](const GpuSpec& g) {
    return std::tie(g.memory_bytes, g.reserved_bytes, g.memory_bandwidth_bytes_per_s, g.host_link_bytes_per_s,
                    g.multiprocessors, g.fp32_flops, g.tf32_flops, g.fp16_flops, g.bf16_flops, g.fp8_flops,
                    g.fp4_flops);
  };
  return facts(a) == facts(b);
}

bool is_same(const HostSpec& a, const HostSpec& b) {
  const auto facts = [](const HostSpec& h) {
    return std::tie(h.memory_bandwidth_bytes_per_s, h.memory_latency_s, h.cores);
  };
  return facts(a) == facts(b);
}

bool is_same(const IntraNodeSpec& a, const IntraNodeSpec& b) {
  const auto is_same_switch = [](const SwitchSpec& x, const SwitchSpec& y) {
    return x.socket == y.socket && x.gpus == y.gpus;
  };
  const auto is_same_pair = [](const NvlinkPairSpec& x, const NvlinkPairSpec& y) {
    return std::tie(x.a, x.b, x.links) == std::tie(y.a, y.b, y.links);
  };
  return a.kind == b.kind && are_same(a.pcie.switches, b.pcie.switches, is_same_switch) &&
         is_same(a.pcie.gpu_link, b.pcie.gpu_link) && is_same(a.pcie.switch_uplink, b.pcie.switch_uplink) &&
         is_same(a.pcie.socket_link, b.pcie.socket_link) && a.pcie.peer_across_sockets == b.pcie.peer_across_sockets &&
         is_same(a.pcie.host_staging, b.pcie.host_staging) && is_same(a.mesh.link, b.mesh.link) &&
         are_same(a.mesh.pairs, b.mesh.pairs, is_same_pair) && is_same(a.gpu_link, b.gpu_link);
}

bool is_same(const NicSpec& a, const NicSpec& b) {
  return is_same(a.link, b.link) && std::tie(a.per_node, a.gpudirect, a.attach, a.half_duplex) ==
                                        std::tie(b.per_node, b.gpudirect, b.attach, b.half_duplex);
}

bool is_same(const FabricSpec& a, const FabricSpec& b) {
  const auto facts = [](const FabricSpec& f) {
    return std::tie(f.kind, f.fat_tree.down, f.fat_tree.up, f.fat_tree.count, f.routing, f.hash, f.hashes, f.torus,
                    f.dragonfly.groups, f.dragonfly.chassis, f.dragonfly.routers, f.dragonfly.nodes);
  };
  const auto is_same_link = [](const LinkSpec& x, const LinkSpec& y) { return is_same(x, y); };
  return is_same(a.link, b.link) && are_same(a.fat_tree.links, b.fat_tree.links, is_same_link) && facts(a) == facts(b);
}

bool is_same(const FaultSpec& a, const FaultSpec& b) {
  return std::tie(a.node, a.nic, a.link, a.bandwidth_share) == std::tie(b.node, b.nic, b.link, b.bandwidth_share);
}

}  // namespace

bool is_same_cluster(const ClusterSpec& a, const ClusterSpec& b) {
  const auto is_same_fault = [](const FaultSpec& x, const FaultSpec& y) { return is_same(x, y); };
  return std::tie(a.nodes, a.gpus_per_node, a.nodes_used) == std::tie(b.nodes, b.gpus_per_node, b.nodes_used) &&
         is_same(a.gpu, b.gpu) && is_same(a.host, b.host) && is_same(a.intra_node, b.intra_node) &&
         is_same(a.nic, b.nic) && is_same(a.fabric, b.fabric) && are_same(a.faults, b.faults, is_same_fault);
}

}  // namespace lockstep::sim::scenario
