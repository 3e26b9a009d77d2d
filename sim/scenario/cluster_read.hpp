#pragma once
// Pieces of read_cluster(), shared by its source files only.
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::cluster_read {

constexpr int kMostNodes = 65536;
constexpr int kMostGpusPerNode = 128;
constexpr long kMostPlaces = 131072;  ///< of a fabric
constexpr Range kBandwidth{1e3, 1e14};
constexpr Range kLatency{0, 1};

/// {"bandwidth", "latency"}.
LinkSpec read_link(const JsonNode& node);

IntraNodeSpec read_intra_node(const JsonNode& node, int gpus_per_node);
/// `nic` gives the bandwidth where the fabric states none.
FabricSpec read_fabric(const JsonNode& node, int nodes, const NicSpec& nic);

}  // namespace lockstep::sim::cluster_read
