#pragma once
// Reads a network between nodes as a user writes it:
//
//   `[COUNTx ]RATE[ KIND][ per GPU| per N GPUs| per node]`
//   Examples: "8x 400 Gb/s InfiniBand", "100 GbE", "2x HDR", "400 Gb/s per GPU".
//
//   COUNT  The ports of a node, 1 to 128. With "per GPU" each GPU has COUNT ports, with "per 4 GPUs" each four GPUs
//          have. Without COUNT: one port.
//   RATE   The rate of a port: a number of Mb/s, Gb/s or Tb/s (Gbit/s, Gbps, 400G), or of GbE, which means Ethernet.
//          Bytes (GB/s) are refused. RATE may also be a name that implies a rate: an InfiniBand generation, Slingshot,
//          Omni-Path, a class.
//   KIND   A network of the catalogue: Ethernet, TCP, RoCE, InfiniBand, EFA, ... It may also stand before the rate.
//          GbE without KIND is Ethernet with TCP. Other rates without KIND are assumed to be InfiniBand from 56 Gb/s
//          (FDR) on, Ethernet with TCP below; the result marks this assumption.
//
// A class of the catalogue (aws-p4d) is the whole network of a node and stands alone. Case and blanks do not matter,
// except for the B of bytes. If the rate is that of the entry's standard, a port carries the bandwidth of the
// catalogue. Otherwise it carries the line rate with TCP, and 0.94 of it with RDMA (11.75 of 12.5 GB/s).
#include <optional>
#include <string>

#include "sim/catalogue/entries.hpp"

namespace lockstep::sim {
inline namespace catalogue {

inline constexpr const char* kNetworkGrammar = "[COUNTx ]RATE[ KIND][ per GPU| per N GPUs| per node]";
/// The share of the line rate that an application reaches with RDMA.
inline constexpr double kRdmaShare = 0.94;

struct NetworkFound {
  const NetworkEntry* entry = nullptr;
  int ports = 1;  ///< of a node
  bool ports_stated = false;
  double port_bytes_per_s = 0;  ///< as an application sees it (RDMA), or the line rate (TCP)
  double line_bits_per_s = 0;   ///< of a port; 0: not known
  bool is_kind_assumed = false;
};

struct NetworkReading {
  std::optional<NetworkFound> found;
  std::string wrong;    ///< reason if none was found
  std::string nearest;  ///< a valid text similar to the given one; empty if that is valid
};

/// Reads `text` for nodes of `gpus_per_node` GPUs.
NetworkReading read_network(const Entries<NetworkEntry>& networks, const std::string& text, int gpus_per_node);

/// Writes "8x 400 Gb/s InfiniBand NDR", which is read as the same network.
std::string network_words(const NetworkFound& network);
/// Writes the network with its bandwidth: "8x 400 Gb/s InfiniBand NDR (47.0 GB/s each by RDMA)".
std::string network_description(const NetworkFound& network);

/// Describes the grammar to users, with an example on each line.
std::string network_grammar_text(const Entries<NetworkEntry>& networks);

}  // namespace catalogue
}  // namespace lockstep::sim
