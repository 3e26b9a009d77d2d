#include "sim/replay/round_layout.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {
namespace {

// Returns the messages in the order of their senders.
std::vector<std::uint32_t> order_by_sender(const std::vector<MessageLinks>& messages, int ranks) {
  std::vector<std::uint32_t> next(to_index(ranks) + 1, 0), order(messages.size());
  for (const MessageLinks& message : messages) ++next[to_index(message.src) + 1];
  for (std::size_t rank = 1; rank < next.size(); ++rank) next[rank] += next[rank - 1];
  for (std::size_t m = 0; m < messages.size(); ++m)
    order[next[to_index(messages[m].src)]++] = static_cast<std::uint32_t>(m);
  return order;
}

}  // namespace

RoundLayout lay_out_round(const std::vector<MessageLinks>& messages, int ranks, const Cluster& cluster) {
  constexpr std::uint32_t kNone = 0xffffffff;
  RoundLayout layout;
  const std::vector<std::uint32_t> order = order_by_sender(messages, ranks);
  layout.place_of.resize(messages.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) layout.place_of[order[place]] = place;
  const auto for_links = [&](std::uint32_t m, auto&& visit) {
    for (const int* link = messages[m].links; link != messages[m].links + messages[m].count; ++link) visit(*link);
  };
  std::vector<std::uint32_t> crossed(to_index(cluster.link_count()), 0), next(crossed.size(), kNone);
  for (std::uint32_t m = 0; m < messages.size(); ++m) for_links(m, [&](int link) { ++crossed[to_index(link)]; });
  std::uint32_t first = 0;
  const auto add_link = [&](int link) {
    if (crossed[to_index(link)] < 2 || next[to_index(link)] != kNone) return;
    layout.links.push_back({link, first, cluster.link_bandwidth(link)});
    next[to_index(link)] = first;
    first += crossed[to_index(link)];
  };
  for (const std::uint32_t m : order) for_links(m, add_link);
  layout.links.push_back({-1, first, 0});
  layout.links.shrink_to_fit();
  layout.crossings.resize(first);
  for (std::uint32_t m = 0; m < messages.size(); ++m)
    for_links(m, [&](int link) {
      if (next[to_index(link)] != kNone) layout.crossings[next[to_index(link)]++] = layout.place_of[m];
    });
  return layout;
}

}  // namespace lockstep::sim::replay
