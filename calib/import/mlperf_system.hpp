#pragma once
// Reads MLPerf's descriptions of systems, which are free text, and keeps what `simulate --predict` can parse.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// The network between nodes with its rate: "4x ConnectX-7 IB NDR 400 Gb/s" gives "4x IB NDR 400 Gb/s". Reads
/// "host_networking", then "host_network_card_count". Empty if neither has a rate, or if there is no network.
std::string network_of_system(const Json& system);

/// The link between GPUs of a node: "PCIe 5.0". Empty for NVLink, Infinity Fabric and unknown text, because `simulate
/// --predict` uses the GPU's own link by default.
std::string link_of_system(const Json& system);

/// The text of a member; empty if it is no text.
std::string text_in(const Json& system, const std::string& name);

}  // namespace lockstep::calib
