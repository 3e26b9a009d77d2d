#pragma once
// Small clusters for the tests of replay: exact numbers, no file needed.
#include <vector>

#include "engine/base/random.hpp"
#include "sim/cluster/cluster.hpp"

namespace lockstep::tests {

/// NVSwitch nodes (each GPU one full-duplex link) on a non-blocking star.
inline sim::ClusterSpec nvswitch_cluster(int nodes, int gpus_per_node) {
  sim::ClusterSpec spec;
  spec.name = "test nvswitch";
  spec.nodes = nodes;
  spec.gpus_per_node = gpus_per_node;
  spec.gpu.name = "test GPU";
  spec.gpu.memory_bytes = 16e9;
  spec.gpu.memory_bandwidth_bytes_per_s = 500e9;
  spec.gpu.fp32_flops = 10e12;
  spec.host.memory_bandwidth_bytes_per_s = 50e9;
  spec.intra_node.kind = sim::IntraNodeKind::nvswitch;
  spec.intra_node.gpu_link = {40e9, 1e-6};
  spec.intra_node.pcie.gpu_link = {25e9, 0.8e-6};
  spec.nic.per_node = 1;
  spec.nic.link = {12.5e9, 1.5e-6};
  spec.fabric.kind = sim::FabricKind::star;
  spec.fabric.link = {12.5e9, 0.5e-6};
  return spec;
}

/// Makes the same with two PCIe switches per node and one NIC on the first.
inline sim::ClusterSpec pcie_cluster(int nodes, int gpus_per_node) {
  sim::ClusterSpec spec = nvswitch_cluster(nodes, gpus_per_node);
  spec.name = "test pcie";
  spec.intra_node = {};
  spec.intra_node.kind = sim::IntraNodeKind::pcie_tree;
  sim::PcieTreeSpec& pcie = spec.intra_node.pcie;
  pcie.switches.resize(2);
  for (int gpu = 0; gpu < gpus_per_node; ++gpu)
    pcie.switches[static_cast<std::size_t>(2 * gpu / gpus_per_node)].gpus.push_back(gpu);
  pcie.switches[1].socket = 1;
  pcie.gpu_link = {11e9, 0.6e-6};
  pcie.switch_uplink = {11e9, 0.4e-6};
  pcie.socket_link = {9e9, 0.3e-6};
  spec.nic.attach = {0};
  return spec;
}

/// Makes NVSwitch nodes of 8 GPUs in a fat tree.
inline sim::ClusterSpec fat_tree_cluster(int nodes, const char* name, const sim::FatTreeSpec& tree) {
  sim::ClusterSpec spec = nvswitch_cluster(nodes, 8);
  spec.name = name;
  spec.fabric.kind = sim::FabricKind::fat_tree;
  spec.fabric.fat_tree = tree;
  return spec;
}

/// Makes one cluster of each kind, with 8 GPUs per node. Kinds are a NIC per node, a NIC per GPU, PCIe trees with and
/// without GPUDirect, and leaves of 4 nodes with uplinks for half of them.
inline std::vector<sim::ClusterSpec> clusters_of_each_kind(int nodes) {
  std::vector<sim::ClusterSpec> specs{nvswitch_cluster(nodes, 8), nvswitch_cluster(nodes, 8), pcie_cluster(nodes, 8),
                                      pcie_cluster(nodes, 8)};
  specs[1].name = "a NIC per GPU";
  specs[1].nic.per_node = 8;
  specs[1].fabric.link.bandwidth_bytes_per_s = 100e9;
  specs[3].name = "staged";
  specs[3].nic.gpudirect = false;
  specs[3].intra_node.pcie.peer_across_sockets = false;
  specs[3].host.memory_bandwidth_bytes_per_s = 15e9;
  specs[3].host.memory_latency_s = 1e-6;
  specs.push_back(fat_tree_cluster(nodes, "fat tree, 2:1", {{4, (nodes + 3) / 4}, {1, 2}, {1, 1}}));
  return specs;
}

/// Draws when each rank arrives, within `spread_s` seconds.
inline std::vector<double> random_arrivals(int ranks, double spread_s) {
  std::vector<double> arrivals;
  for (int rank = 0; rank < ranks; ++rank)
    arrivals.push_back(spread_s * random_uniform(7, 3, static_cast<std::uint64_t>(rank)));
  return arrivals;
}

}  // namespace lockstep::tests
