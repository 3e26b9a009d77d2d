#pragma once
// Messages between two nodes over one NIC, measured by perftest, compared with the NIC's line rate.
//
// Bandwidth: line rate x MTU / (MTU + headers of a packet). The headers are the standards' (transfer.cpp). It is an
// upper bound. Latency: the network's latency in the catalogue plus bytes over that bandwidth; twice the latency for
// the round trip of a read. Sizes below kLatencyBytes of a bandwidth test are left out: the rate of messages limits
// them, which is not simulated.
#include "calib/import/perftest.hpp"
#include "sim/explain/check.hpp"

namespace lockstep::sim::explain {

/// Returns true for InfiniBand of any generation, and false for RoCE.
bool is_infiniband(const NetworkEntry& network);

/// Largest share of the line rate that payload can have. `link_type`: "IB" or "Ethernet", as perftest prints it; others
/// count as Ethernet with RoCE v2. `mtu_bytes` > 0.
double payload_share(const std::string& link_type, int mtu_bytes);

/// Reads the measurements of a file. Tests that differ in direction, NIC, link type, MTU, queue pairs or ports are
/// separate. `network` is written as in network_grammar.hpp; one of its ports is compared. Throws InputError if the network
/// is unknown, has no RDMA or contradicts the file's link type. Also throws it if a measured bandwidth exceeds what a
/// port can carry, or if the file has no size that can be compared.
std::vector<MeasuredCollective> measured_transfers(const std::string& text, const std::string& file,
                                                   const std::string& network, int gpus_per_node,
                                                   const Catalogue& catalogue);

/// Returns the expected time of each point of `measured`, in the same order. The NIC has the variant's fault; null: none.
std::vector<Expected> predict_transfer(const MeasuredCollective& measured, const FaultVariant* variant);

/// Says what the measurement was compared with.
std::string transfer_text(const MeasuredCollective& measured);

}  // namespace lockstep::sim::explain
