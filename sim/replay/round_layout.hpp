#pragma once
// Which messages of a round meet on which links. This depends on their routes only, so rounds between the same ranks
// share it.
#include <cstdint>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace lockstep::sim::replay {

struct RoundLayout {
  struct Link {
    int number;           ///< of the cluster's link
    std::uint32_t first;  ///< in `crossings`, where the messages of this link begin; they end where the next one's do
    double bandwidth_bytes_per_s;
  };
  /// The place of each message in memory. Messages of neighbouring ranks lie together, because they meet on links.
  std::vector<std::uint32_t> place_of;
  /// The links that several messages cross, in the order of these messages in memory, and one more that ends the list.
  std::vector<Link> links;
  /// The places of the messages of each link, in the order of the messages.
  std::vector<std::uint32_t> crossings;
};

/// The sender of a message, and the links on its way that may be filled.
struct MessageLinks {
  int src;
  int count;
  const int* links;
};

/// `ranks`: senders are below it. A link that a single message crosses is left out.
RoundLayout lay_out_round(const std::vector<MessageLinks>& messages, int ranks, const Cluster& cluster);

}  // namespace lockstep::sim::replay
