#include "sim/replay/round_of_messages.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

void RoundOfMessages::forget_messages_of_owned_links() {
  for (std::size_t link = 0; link < is_apart_.size(); ++link)
    is_apart_[link] = owners_.has_owner(static_cast<int>(link));
}

// Divides the link among its messages as if no other link delayed them.
void RoundOfMessages::serve_alone(const RoundLayout& layout, std::size_t l) {
  const RoundLayout::Link& link = layout.links[l];
  const std::size_t count = layout.links[l + 1].first - link.first;
  const std::uint32_t* const places = layout.crossings.data() + link.first;
  if (flows_.size() < count) flows_.resize(count);
  double together = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Message& message = messages_[places[i]];
    flows_[i] = {message.start_s, message.bytes, message.most_bytes_per_s};
    together += message.most_bytes_per_s;
  }
  Served& served = served_[l];
  served.earlier_bytes_per_s = find_earlier(link.number, count, served);
  together += served.earlier_bytes_per_s;
  served.is_filled = together > link.bandwidth_bytes_per_s * (1 + kCapacityTolerance);
  if (!served.is_filled) return;
  const std::size_t all = count + served.last_earlier - served.first_earlier;
  sharing_.run(flows_.data(), all, link.bandwidth_bytes_per_s, flow_ends_s_);
  Crossing* const crossings = crossings_.data() + link.first;
  for (std::size_t i = 0; i < count; ++i) {
    Message& message = messages_[places[i]];
    const double rate = message.bytes / (flow_ends_s_[i] - message.start_s);
    crossings[i] = {rate, flow_ends_s_[i]};
    if (rate < message.least) {
      message.second = message.least;
      message.least = rate;
    } else {
      message.second = std::min(message.second, rate);
    }
  }
}

// Divides the link among its messages. A message is never faster than on the slowest of its other links.
void RoundOfMessages::serve_beside_others(const RoundLayout& layout, std::size_t l) {
  const Served& served = served_[l];
  if (!served.is_filled) return;
  const RoundLayout::Link& link = layout.links[l];
  const std::size_t count = layout.links[l + 1].first - link.first;
  const std::uint32_t* const places = layout.crossings.data() + link.first;
  const Crossing* const crossings = crossings_.data() + link.first;
  const std::size_t earlier = served.last_earlier - served.first_earlier;
  if (flows_.size() < count + earlier) flows_.resize(count + earlier);
  bool is_as_before = true;  // other links delay none of the flows
  double together = served.earlier_bytes_per_s;
  for (std::size_t i = 0; i < count; ++i) {
    const Message& message = messages_[places[i]];
    const double elsewhere = crossings[i].rate > message.least ? message.least : message.second;
    is_as_before = is_as_before && elsewhere >= message.most_bytes_per_s;
    flows_[i] = {message.start_s, message.bytes, std::min(message.most_bytes_per_s, elsewhere)};
    together += flows_[i].most_bytes_per_s;
  }
  if (together <= link.bandwidth_bytes_per_s) {  // none waits
    for (std::size_t i = 0; i < count; ++i) {
      double& end_s = messages_[places[i]].end_s;
      end_s = std::max(end_s, flows_[i].start_s + flows_[i].bytes / flows_[i].most_bytes_per_s);
    }
    return;
  }
  if (!is_as_before) {
    std::copy_n(earlier_flows_.begin() + static_cast<std::ptrdiff_t>(served.first_earlier), earlier,
                flows_.begin() + static_cast<std::ptrdiff_t>(count));
    sharing_.run(flows_.data(), count + earlier, link.bandwidth_bytes_per_s, flow_ends_s_);
  }
  for (std::size_t i = 0; i < count; ++i) {
    double& end_s = messages_[places[i]].end_s;
    end_s = std::max(end_s, is_as_before ? crossings[i].end_s : flow_ends_s_[i]);
  }
}

// Appends to the link's `flows` the unsent rest of earlier messages when the first of them starts, and forgets those
// that have ended by then. Returns the bytes per second of the earlier messages together.
double RoundOfMessages::find_earlier(int link, std::size_t flows, Served& served) {
  served.first_earlier = served.last_earlier = earlier_flows_.size();
  if (is_apart_[to_index(link)]) return 0;
  std::vector<Earlier>& earlier = earlier_[to_index(link)];
  if (earlier.empty()) return 0;
  double first_s = kInfinity, bytes_per_s = 0;
  for (std::size_t i = 0; i < flows; ++i) first_s = std::min(first_s, flows_[i].start_s);
  std::size_t kept = 0;
  for (const Earlier& message : earlier) {
    const double start_s = std::max(first_s, message.start_s);
    if (message.end_s <= start_s) continue;
    earlier_flows_.push_back({start_s, message.bytes_per_s * (message.end_s - start_s), message.bytes_per_s});
    bytes_per_s += message.bytes_per_s;
    earlier[kept++] = message;
  }
  earlier.resize(kept);
  served.last_earlier = earlier_flows_.size();
  if (flows_.size() < flows + kept) flows_.resize(flows + kept);
  std::copy(earlier_flows_.begin() + static_cast<std::ptrdiff_t>(served.first_earlier), earlier_flows_.end(),
            flows_.begin() + static_cast<std::ptrdiff_t>(flows));
  return bytes_per_s;
}

// Loads the lists of links that follow in the layout into the processor's caches. They lie apart in memory, so that
// waiting for them would take half of the time on some 100,000 links.
void RoundOfMessages::prefetch_earlier(const RoundLayout& layout, std::size_t behind) const {
  constexpr std::size_t kAhead = 12, kMost = 9, kOfLine = 3;  // links; messages; messages on a line of the cache
  const std::size_t far = behind + 2 * kAhead, near = behind + kAhead;
  if (far < served_.size()) __builtin_prefetch(&earlier_[to_index(layout.links[far].number)]);
  if (near >= served_.size() || is_apart_[to_index(layout.links[near].number)]) return;
  const std::vector<Earlier>& list = earlier_[to_index(layout.links[near].number)];
  for (std::size_t i = 0; i < std::min(kMost, list.size()); i += kOfLine) __builtin_prefetch(&list[i]);
}

void RoundOfMessages::keep_for_later(const RoundLayout& layout, std::size_t l) {
  const RoundLayout::Link& link = layout.links[l];
  if (is_apart_[to_index(link.number)]) return;
  std::vector<Earlier>& earlier = earlier_[to_index(link.number)];
  for (std::size_t c = link.first; c < layout.links[l + 1].first; ++c) {
    const Message& message = messages_[layout.crossings[c]];
    earlier.push_back({message.start_s, message.end_s, message.bytes / (message.end_s - message.start_s)});
  }
}

void RoundOfMessages::find_ends(const RoundLayout& layout) {
  served_.resize(layout.links.size() - 1);
  if (crossings_.size() < layout.crossings.size()) crossings_.resize(layout.crossings.size());
  earlier_flows_.clear();
  for (std::size_t l = 0; l < served_.size(); ++l) {
    prefetch_earlier(layout, l);
    serve_alone(layout, l);
  }
  for (std::size_t l = 0; l < served_.size(); ++l) serve_beside_others(layout, l);
  for (std::size_t l = 0; l < served_.size(); ++l) {
    prefetch_earlier(layout, l);
    keep_for_later(layout, l);
  }
}

void RoundOfMessages::forget_earlier(const RoundLayout& layout) {
  for (std::size_t l = 0; l + 1 < layout.links.size(); ++l) earlier_[to_index(layout.links[l].number)].clear();
}

}  // namespace lockstep::sim::replay
