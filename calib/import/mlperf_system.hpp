#pragma once
// MLPerf's descriptions of systems are free text. These functions keep what `simulate --predict` can read.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// The network between nodes with its rate: "4x ConnectX-7 IB NDR 400 Gb/s" gives "4x IB NDR 400 Gb/s". Looks at
/// "host_networking", then "host_network_card_count". Empty: neither has a rate, or there is no network.
std::string network_of_system(const Json& system);

/// The link between GPUs of a node: "PCIe 5.0". Empty for NVLink, Infinity Fabric and unknown text: the GPU's own link is
/// the default of `simulate --predict`.
std::string link_of_system(const Json& system);

/// A member that is a text; else empty.
std::string text_in(const Json& system, const std::string& name);

}  // namespace lockstep::calib
