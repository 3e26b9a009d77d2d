#pragma once
// Machines from NCCL's point of view.
#include "sim/collective/nccl.hpp"

namespace lockstep::tests {

/// Describes two nodes of two Hopper GPUs, with two channels of 10 GB/s.
inline sim::NcclSystem two_by_two() {
  sim::NcclSystem system;
  system.ranks = 4;
  system.nodes = 2;
  system.ring = {2, 10e9, 10e9};
  system.entry_gpus = {0};
  return system;
}

/// Describes an HGX Hopper node, or several with 8 NICs of 400 Gbit/s, as in NCCL's logs (NVIDIA/nccl issue 1197 for
/// one node).
inline sim::NcclSystem hgx_hopper(int nodes) {
  sim::NcclSystem system;
  system.ranks = 8 * nodes;
  system.nodes = nodes;
  system.ring = system.tree = nodes == 1 ? sim::NcclGraph{12, 30e9, 30e9} : sim::NcclGraph{8, 48e9, 48e9};
  system.nvls = nodes == 1 ? sim::NcclGraph{8, 40e9, 60e9} : sim::NcclGraph{8, 40e9, 48e9};
  for (int nic = 0; nic < (nodes == 1 ? 1 : 8); ++nic) system.entry_gpus.push_back(nic);
  return system;
}

}  // namespace lockstep::tests
