#pragma once
// Predicts what NCCL's topology search would find on a cluster.
//
//   `NVLink`    Counted as NCCL counts it (src/graph/topo.h): 18, 20, 20, 20.6, 40.1 GB/s per link of Pascal, Volta,
//               Ampere, Hopper, Blackwell. NVSwitch nodes are taken as full: 6, 12, 18, 18 links per GPU from Volta on.
//   `one node`  NVSwitch: 6 x 20, 12 x 20, 12 x 30, 16 x 45 GB/s (Hopper: NVIDIA/nccl issue 1197). A mesh: one channel
//               per link of the GPU that has the fewest. PCIe: one channel, as fast as the slowest hop of a ring over
//               all GPUs, whose flows divide shared links.
//   `NVLS`      One channel per GPU, but no more than a GPU's links can carry at the slowest of NCCL's speeds. Channels
//               have the fastest speed at which all fit. The NICs' channels between nodes divide a node's switch rate.
//   `network`   Channels have the fastest of NCCL's speeds up to the NIC's line rate. A NIC has as many as this rate
//               carries: one, or more if it stands for several ports. The line rate is the first of 10, 25, 40, 56, 100,
//               200, 400, 800 Gbit/s that is not below the cluster's bandwidth, which is what applications see. Above
//               800 it is a multiple of 400.
#include <optional>
#include <vector>

#include "sim/collective/nccl_fit.hpp"
#include "sim/scenario/cluster_spec.hpp"
#include "sim/scenario/nccl_spec.hpp"

namespace lockstep::sim::program {

/// Describes `gpus` GPUs of the cluster: a part of a node or whole nodes. Values given in `spec` replace derived ones.
/// Measured operations in `spec` correct latency and bandwidth. Within a node these are operations on one node. Between
/// nodes they are operations over several nodes (nccl_fit.hpp), or else those on one node. Throws std::invalid_argument
/// if they do not determine latency and bandwidth.
NcclSystem nccl_system(const ClusterSpec& cluster, const NcclSpec& spec, int gpus);

/// Returns the operations in `spec` measured over several nodes, by number of nodes, with systems by the tables.
std::vector<NcclCurve> measured_between_nodes(const ClusterSpec& cluster, const NcclSpec& spec);
/// Returns by how many seconds operations measured on one node exceed the tables' times; none if none were
/// measured.
std::optional<double> measured_excess_s(const ClusterSpec& cluster, const NcclSpec& spec);

}  // namespace lockstep::sim::program
