#pragma once
// "Storage: 2x ConnectX-6 IB HDR, Compute: 8x ConnectX-7 IB NDR 400Gb/s" -> eight ports of NDR InfiniBand.
#include <optional>
#include <string>
#include <vector>

#include "sim/records/catalogue.hpp"

namespace lockstep::sim {

struct NetworkFound {
  const NetworkEntry* entry;
  int ports = 1;  ///< per node
  bool ports_stated = false;
  double port_bytes_per_s = 0;  ///< as an application sees it (RDMA), or the line rate (TCP)
  double line_bits_per_s = 0;   ///< stated in the text; 0: not
};

/// None where no part of the text names a network that the catalogue knows. Of several parts the one with the most
/// bandwidth counts, and where a part is called "Compute" only that.
std::optional<NetworkFound> read_network_text(const Catalogue& catalogue, const std::string& text);

/// "none", empty, "single node": nothing between nodes.
bool says_no_network(const std::string& text);

}  // namespace lockstep::sim
