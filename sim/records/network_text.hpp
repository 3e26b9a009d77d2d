#pragma once
// Networks in the texts of publications, for records alone: what is written as a user would write it is read by that
// grammar (sim/catalogue/network_grammar.hpp), anything else word by word:
// "Storage: 2x ConnectX-6 IB HDR, Compute: 8x ConnectX-7 IB NDR 400Gb/s" -> eight ports of NDR InfiniBand.
#include <optional>
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/catalogue/network_grammar.hpp"

namespace lockstep::sim {
inline namespace records {

/// None where no part of the text names a network that the catalogue knows. Of several parts the one with the most
/// bandwidth counts, and where a part is called "Compute" only that. `gpus_per_node` is for "per GPU".
std::optional<NetworkFound> read_network_text(const Catalogue& catalogue, const std::string& text,
                                              int gpus_per_node = 8);

/// "none", empty, "single node": nothing between nodes.
bool says_no_network(const std::string& text);

}  // namespace records
}  // namespace lockstep::sim
