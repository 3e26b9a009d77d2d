// Computes the rates of fair flows after some have started or ended (fair_flows.hpp).
#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/index.hpp"
#include "sim/replay/fair_flows.hpp"
#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr double kSame = 1e-11;    // rates and loads that differ by less (relatively) count as equal
constexpr std::size_t kMany = 32;  // with more touched links, a queue finds the tightest

}  // namespace

// Simultaneous changes often concern flows that meet nowhere. Those that do not meet are settled one after the other,
// because few links are searched faster than many. Links that share their bandwidth go first: a flow that starts mostly
// joins their groups.
void FairFlows::settle_changes() {
  for (int l : changed_)
    if (!is_settled(l) && !has_single_start(links_[to_index(l)])) try_even_share(l);
  for (int l : changed_) {
    if (is_settled(l)) continue;
    Link& link = links_[to_index(l)];
    if (has_single_start(link)) {
      const int narrowest = find_narrowest_link(link);
      if (narrowest != kNone && try_even_share(narrowest) && is_settled(l)) continue;
    }
    touch(link, l);
    do {
      release_changed_links();
      solve();
    } while (release_unfair_groups() || !add_to_other_links());
    commit();
  }
  changed_.clear();
}

// True if no flow needs a new rate that this link sets.
bool FairFlows::is_settled(int l) {
  Link& link = links_[to_index(l)];
  if (!link.has_changed) return true;
  if (link.group + link.started > 0) return false;
  link.has_changed = false;
  if (link.flows.empty()) link.load = 0;
  find_end(l);
  return true;
}

// Returns the link that leaves the least to the only flow that has just started on `link`. Returns kNone if a group
// shares one of the flow's links.
int FairFlows::find_narrowest_link(const Link& link) {
  std::size_t place = link.flows.size() - 1;
  while (flows_[to_index(link.flows[place])].bottleneck != kNone) --place;
  int narrowest = kNone;
  double least = kInfinity;
  for (const Hop* hop = begin(link.flows[place]); hop != end(link.flows[place]); ++hop) {
    const Link& crossed = links_[to_index(hop->link)];
    if (crossed.group > 0) return kNone;
    const double share = (crossed.bandwidth - crossed.load) / crossed.started;
    if (share >= least) continue;
    least = share;
    narrowest = hop->link;
  }
  return narrowest;
}

// Divides the link evenly among its group and the flows that have just started on it. Changes nothing and returns false
// if other links limit these flows, or if the link carries a faster flow.
bool FairFlows::try_even_share(int l) {
  Link& link = links_[to_index(l)];
  const int count = link.group + link.started;
  const bool is_group_alone = to_index(count) == link.flows.size();
  const double rate = (link.bandwidth - (is_group_alone ? 0 : link.load - link.group * link.rate)) / count;
  if (!(rate > 0)) return false;
  const auto change_of = [&](const Flow& flow) { return flow.bottleneck == l ? rate - link.rate : rate; };
  const auto is_of_other_group = [&](const Flow& flow) { return flow.bottleneck != l && flow.bottleneck != kNone; };
  const auto can_take = [&](int f) {
    const Flow& flow = flows_[to_index(f)];
    if (is_of_other_group(flow)) return links_[to_index(flow.bottleneck)].rate <= rate * (1 + kSame);
    return load_other_links(f, l, change_of(flow));
  };
  const auto refused = std::find_if_not(link.flows.begin(), link.flows.end(), can_take);
  if (refused != link.flows.end()) {
    std::for_each(link.flows.begin(), refused, [&](int f) {
      const Flow& flow = flows_[to_index(f)];
      for (const Hop* hop = begin(f); !is_of_other_group(flow) && hop != end(f); ++hop)
        if (hop->link != l) links_[to_index(hop->link)].load -= change_of(flow);
    });
    return false;
  }
  serve(link);
  link.rate = rate;
  link.load = link.bandwidth;
  link.has_changed = false;
  for (std::size_t place = link.flows.size(); link.started > 0;)
    if (flows_[to_index(link.flows[--place])].bottleneck == kNone) join_group(link.flows[place], l);
  find_end(l);
  return true;
}

// Adds a change of the flow's rate to the loads of its links other than `l`. Adds nothing and returns false if one of
// them would be exceeded, or has a group.
bool FairFlows::load_other_links(int f, int l, double change) {
  for (Hop* hop = begin(f); hop != end(f); ++hop) {
    if (hop->link == l) continue;
    Link& other = links_[to_index(hop->link)];
    if (other.group == 0 && other.load + change <= other.bandwidth * (1 + kSame)) {
      other.load += change;
      continue;
    }
    while (hop != begin(f))
      if ((--hop)->link != l) links_[to_index(hop->link)].load -= change;
    return false;
  }
  return true;
}

// Makes `l`, whose rate is set, the bottleneck of a flow that has just started.
void FairFlows::join_group(int f, int l) {
  Link& link = links_[to_index(l)];
  Flow& flow = flows_[to_index(f)];
  flow.bottleneck = l;
  flow.ends_at_bytes += link.served_bytes;
  ++link.group;
  push_ending(link, f);
  for (const Hop* hop = begin(f); hop != end(f); ++hop) --links_[to_index(hop->link)].started;
}

void FairFlows::release_changed_links() {
  for (std::size_t t = 0; t < touched_.size(); ++t) {  // release() appends to touched_
    Link& link = links_[to_index(touched_[t])];
    if (!link.has_changed) continue;
    link.has_changed = false;
    release(touched_[t]);
  }
}

// Unfixes the rates of the flows in the link's group, so that solve() computes them again. Includes flows that have just
// started.
void FairFlows::release(int l) {
  Link& link = links_[to_index(l)];
  if (link.is_released) return;
  link.is_released = true;
  touch(link, l);
  if (link.group == 0 && link.started == 0) return;
  link.started = 0;
  for (int f : link.flows)
    if (const int bottleneck = flows_[to_index(f)].bottleneck; bottleneck == l || bottleneck == kNone) share_out(f);
}

void FairFlows::touch(Link& link, int l) {
  if (link.is_touched) return;
  link.is_touched = true;
  link.free = link.bandwidth - link.load;
  touched_.push_back(l);
}

// Unfixes the flow's rate. Leaves out links that are no bottleneck: they matter only if the new rates exceed them, which
// add_to_other_links() finds.
void FairFlows::share_out(int f) {
  Flow& flow = flows_[to_index(f)];
  if (flow.is_shared_out) return;
  flow.is_shared_out = true;
  shared_.push_back(f);
  const double rate = current_rate(flow);
  for (const Hop* hop = begin(f); hop != end(f); ++hop) {
    Link& link = links_[to_index(hop->link)];
    if (!link.is_touched && link.group == 0 && !link.has_changed && flow.bottleneck != kNone) continue;
    touch(link, hop->link);
    link.free += rate;
    ++link.count;
  }
}

// Progressive filling: the link with the least free bandwidth per flow determines the rates of its flows.
void FairFlows::solve() {
  shares_.clear();
  for (int l : touched_) {
    Link& link = links_[to_index(l)];
    link.left = link.free;
    link.unserved = link.count;
    link.sets_rates = false;
    link.fastest = 0;
    if (touched_.size() > kMany && link.unserved > 0) shares_.emplace_back(link.left / link.unserved, l);
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>());
  for (int f : shared_) flows_[to_index(f)].new_bottleneck = kNone;
  // The last flow often gets its rate long before every link has been looked at.
  for (std::size_t unserved = shared_.size(); unserved > 0;) {
    const int l = tightest();
    Link& link = links_[to_index(l)];
    const double rate = std::max(0.0, link.left / link.unserved);
    link.sets_rates = true;
    link.new_rate = rate;
    for (int f : link.flows) {
      Flow& flow = flows_[to_index(f)];
      if (!flow.is_shared_out || flow.new_bottleneck != kNone) continue;
      flow.new_bottleneck = l;
      --unserved;
      flow.new_rate = rate;
      for (const Hop* hop = begin(f); hop != end(f); ++hop) {
        Link& crossed = links_[to_index(hop->link)];
        if (!crossed.is_touched) continue;
        crossed.left -= rate;
        --crossed.unserved;
        crossed.fastest = rate;  // rates that are set later are no lower
      }
    }
  }
}

// Requires a flow without a new rate. A link's free bandwidth per flow never decreases while rates of other links are
// fixed. So an outdated entry can only be too early in the queue.
int FairFlows::tightest() {
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
    const int l = shares_.back().second;
    shares_.pop_back();
    const Link& link = links_[to_index(l)];
    if (link.unserved == 0) continue;
    const double now = link.left / link.unserved;
    if (shares_.empty() || now <= shares_.front().first) return l;
    shares_.emplace_back(now, l);
    std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
  }
  int best = kNone;
  double least = kInfinity;
  for (int l : touched_) {
    const Link& link = links_[to_index(l)];
    if (link.unserved == 0 || link.left >= least * link.unserved) continue;
    best = l;
    least = link.left / link.unserved;
  }
  return best;
}

// Releases the groups of flows that have lost their bottleneck; returns false if there are none.
bool FairFlows::release_unfair_groups() {
  const std::size_t before = shared_.size(), solved = touched_.size();
  for (std::size_t t = 0; t < solved; ++t) {  // release() appends to touched_
    const int l = touched_[t];
    Link& link = links_[to_index(l)];
    const bool has_group = link.group > 0 && !link.is_released;
    const bool is_full = std::abs(link.left) <= kSame * link.bandwidth;
    if (has_group && (link.sets_rates || !is_full || link.fastest > link.rate * (1 + kSame))) release(l);
    if (!link.sets_rates) continue;
    for (int f : link.flows) {
      const Flow& flow = flows_[to_index(f)];
      if (!flow.is_shared_out && links_[to_index(flow.bottleneck)].rate > link.new_rate * (1 + kSame))
        release(flow.bottleneck);
    }
  }
  return shared_.size() > before;
}

// Adds the changes of rates to the loads of links that were left out. If the new rates exceed some of these links,
// touches them instead, and returns false.
bool FairFlows::add_to_other_links() {
  exceeded_.clear();
  const auto for_other_links = [&](auto&& visit) {
    for (int f : shared_) {
      const double change = flows_[to_index(f)].new_rate - current_rate(flows_[to_index(f)]);
      for (const Hop* hop = begin(f); hop != end(f); ++hop)
        if (!links_[to_index(hop->link)].is_touched) visit(links_[to_index(hop->link)], hop->link, change);
    }
  };
  const auto is_exceeded = [&](const Link& link) { return link.load > link.bandwidth * (1 + kSame); };
  for_other_links([&](Link& link, int l, double change) {
    link.load += change;
    if (is_exceeded(link)) exceeded_.push_back(l);
  });
  if (std::none_of(exceeded_.begin(), exceeded_.end(), [&](int l) { return is_exceeded(links_[to_index(l)]); }))
    return true;
  for_other_links([&](Link& link, int, double change) { link.load -= change; });
  for (int l : exceeded_) {
    Link& link = links_[to_index(l)];
    if (link.is_touched) continue;
    touch(link, l);
    for (int f : link.flows) {
      if (!flows_[to_index(f)].is_shared_out) continue;
      link.free += current_rate(flows_[to_index(f)]);
      ++link.count;
    }
  }
  return false;
}

void FairFlows::commit() {
  for (int l : touched_) serve(links_[to_index(l)]);
  for (int f : shared_) {
    Flow& flow = flows_[to_index(f)];
    flow.is_shared_out = false;
    if (flow.bottleneck == flow.new_bottleneck) continue;
    double left = flow.ends_at_bytes;
    if (flow.bottleneck != kNone) {
      left -= links_[to_index(flow.bottleneck)].served_bytes;
      --links_[to_index(flow.bottleneck)].group;
    }
    Link& link = links_[to_index(flow.new_bottleneck)];
    flow.bottleneck = flow.new_bottleneck;
    flow.ends_at_bytes = link.served_bytes + left;
    ++link.group;
    push_ending(link, f);
  }
  for (int f : shared_) links_[to_index(flows_[to_index(f)].bottleneck)].rate = flows_[to_index(f)].new_rate;
  for (int l : touched_) {
    Link& link = links_[to_index(l)];
    link.load = link.flows.empty() ? 0 : link.bandwidth - link.left;
    link.is_touched = link.is_released = false;
    link.count = link.started = 0;
    find_end(l);
  }
  shared_.clear();
  touched_.clear();
}

}  // namespace lockstep::sim::replay
