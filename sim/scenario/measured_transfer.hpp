#pragma once
// Makes a NIC of a cluster from perftest's transfers between two nodes, which `calibrate import perftest` wrote.
//
//   "bandwidth": {"from": "node0", "to": "node1", "test"?: "RDMA_Write BW"}
//   "latency":   {"from": "node0", "to": "node1", "test"?: "RDMA_Write Latency"}
//
// name transfers of the profile in /cluster/profile, by default those in one direction; several are refused.
#include "calib/profile.hpp"
#include "engine/base/json.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// Returns the JSON Schema of such a transfer.
Json transfer_schema();

/// True if the value names a transfer instead of a quantity.
bool names_transfer(const JsonNode& node);

/// bytes/s of the largest message of a bandwidth test. Lists it as an input of the document. `profile`: null if the
/// cluster has none. Throws InputError for unknown keys, and if there is no such transfer.
double measured_nic_bandwidth(const JsonNode& node, const calib::Profile* profile);

/// Seconds of one NIC: half of the time of the smallest message, because a message passes two NICs. A read's round trip
/// passes four. Switches between the nodes are included, so the fabric should have a latency of 0. Otherwise as above.
double measured_nic_latency(const JsonNode& node, const calib::Profile* profile);

}  // namespace lockstep::sim::scenario
