#pragma once
// Pieces of read_cluster(), shared by its source files only.
#include "sim/scenario/cluster_spec.hpp"
#include "sim/scenario/measured_link.hpp"

namespace lockstep::sim::cluster_read {

constexpr int kMostNodes = 65536;
constexpr int kMostGpusPerNode = 128;
constexpr long kMostPlaces = 131072;  ///< of a fabric
constexpr Range kBandwidth{1e3, 1e14};
constexpr Range kLatency{0, 1};

/// {"bandwidth", "latency"}, or a copy of the cluster's profile (null: it has none).
LinkSpec read_link(const JsonNode& node, const calib::Profile* profile, const LinkPlace& place);

IntraNodeSpec read_intra_node(const JsonNode& node, int gpus_per_node, const calib::Profile* profile);
/// `nic` gives the bandwidth where the fabric states none.
FabricSpec read_fabric(const JsonNode& node, int nodes, const NicSpec& nic);

}  // namespace lockstep::sim::cluster_read
