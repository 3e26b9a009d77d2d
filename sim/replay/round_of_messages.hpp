#pragma once
// Finds when the messages of a round end whose links are shared. See shared_rounds.hpp for the model.
#include <cstdint>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/limits.hpp"
#include "sim/replay/link_owners.hpp"
#include "sim/replay/processor_sharing.hpp"
#include "sim/replay/round_layout.hpp"

namespace lockstep::sim::replay {

/// Reuses the memory of earlier rounds, and knows which of their messages are still under way.
class RoundOfMessages {
 public:
  explicit RoundOfMessages(const Cluster& cluster)
      : earlier_(static_cast<std::size_t>(cluster.link_count())),
        owners_(cluster),
        is_apart_(static_cast<std::size_t>(cluster.link_count()), false) {}

  struct Message {
    Message() = default;
    Message(double start, double message_bytes, double most)
        : start_s(start), bytes(message_bytes), most_bytes_per_s(most), end_s(start + message_bytes / most) {}
    double start_s = 0;
    double bytes = 0;
    double most_bytes_per_s = 0;
    double end_s = 0;
    double least = kInfinity, second = kInfinity;  ///< rates that its links gave it: the lowest, and the next one
  };
  /// The messages by their places in the layout.
  std::vector<Message>& messages() { return messages_; }
  /// The ranks at the ends of all messages; SharedPlan records them.
  LinkOwners& owners() { return owners_; }
  /// Tells that all plans are laid out and that each rank is in one round at a time. So a rank's own links carry no
  /// messages of earlier rounds, which need not be kept.
  void forget_messages_of_owned_links();
  /// Sets the end of each message.
  void find_ends(const RoundLayout& layout);
  /// Forgets the messages of earlier rounds, including the latest, which had this layout.
  void forget_earlier(const RoundLayout& layout);

 private:
  struct Crossing {
    double rate;   // mean, given by this link if no other link delays its flows
    double end_s;  // under the same assumption
  };
  struct Served {
    std::size_t first_earlier, last_earlier;  // in earlier_flows_
    double earlier_bytes_per_s;               // of these together
    bool is_filled;                           // false: too wide to delay any flow
  };
  // A message of an earlier round on a link.
  struct Earlier {
    double start_s, end_s;
    double bytes_per_s;
  };
  void serve_alone(const RoundLayout& layout, std::size_t link);
  void serve_beside_others(const RoundLayout& layout, std::size_t link);
  double find_earlier(int link, std::size_t flows, Served& served);
  void prefetch_earlier(const RoundLayout& layout, std::size_t behind) const;
  void keep_for_later(const RoundLayout& layout, std::size_t link);

  std::vector<Message> messages_;
  std::vector<Served> served_;                 // by link of the layout
  std::vector<Crossing> crossings_;            // as in the layout
  std::vector<std::vector<Earlier>> earlier_;  // by link of the cluster
  std::vector<SharingFlow> earlier_flows_;     // what this round's links still have to carry of them
  LinkOwners owners_;
  std::vector<bool> is_apart_;  // by link of the cluster: rounds never meet on it
  std::vector<SharingFlow> flows_;
  std::vector<double> flow_ends_s_;
  ProcessorSharing sharing_;
};

}  // namespace lockstep::sim::replay
