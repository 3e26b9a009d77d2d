#include "sim/replay/fair_flows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr double kSame = 1e-11;        // rates and loads that differ by less (relatively) count as equal
constexpr double kSameTime_s = 1e-12;  // as SimGrid is configured in sim/messages/engine.cpp
constexpr std::size_t kMany = 32;      // with more touched links, a queue finds the tightest

}  // namespace

double FairFlows::same_time_s(double now_s) {
  return std::max(kSameTime_s, 4 * std::numeric_limits<double>::epsilon() * now_s);
}

FairFlows::FairFlows(std::vector<double> bandwidths)
    : bandwidths_(std::move(bandwidths)), number_of_(bandwidths_.size(), kNone) {
  for (const double bandwidth : bandwidths_)
    if (!(bandwidth > 0)) throw std::invalid_argument("fair flows: a link needs a bandwidth above 0");
}

int FairFlows::limit_of(int link) {
  int& number = number_of_.at(to_index(link));
  if (number == kNone) {
    number = static_cast<int>(links_.size());
    links_.emplace_back();
    links_.back().bandwidth = bandwidths_[to_index(link)];
    is_limit_.push_back(false);
    feeders_.resize(links_.size());
  }
  return number;
}

int FairFlows::add_route(std::vector<int> links) {
  if (links.empty()) throw std::invalid_argument("fair flows: a route needs a link");
  std::vector<int> sorted = links;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw std::invalid_argument("fair flows: a route has every link once");
  for (int& link : links) link = limit_of(link);
  make_room(links.size() + 1);
  narrow(links);
  routes_.push_back({links_of_routes_.size(), links_of_routes_.size() + links.size()});
  links_of_routes_.insert(links_of_routes_.end(), links.begin(), links.end());
  return static_cast<int>(routes_.size()) - 1;
}

// Reserves memory for flows over `links` links each, including a throttle.
void FairFlows::make_room(std::size_t links) {
  if (links <= longest_) return;
  std::vector<Hop> hops(flows_.size() * links);
  for (std::size_t f = 0; f < flows_.size(); ++f)
    std::copy_n(hops_.begin() + static_cast<std::ptrdiff_t>(f * longest_), flows_[f].hops,
                hops.begin() + static_cast<std::ptrdiff_t>(f * links));
  hops_ = std::move(hops);
  longest_ = links;
}

// A link is never full if it is wider than the sum of the narrower links on the routes over it.
void FairFlows::narrow(const std::vector<int>& links) {
  const int narrowest = *std::min_element(links.begin(), links.end(), [this](int a, int b) {
    return links_[to_index(a)].bandwidth < links_[to_index(b)].bandwidth;
  });
  for (int l : links) {
    if (is_limit_[to_index(l)]) continue;
    Feeders& feeders = feeders_[to_index(l)];
    if (links_[to_index(l)].bandwidth == links_[to_index(narrowest)].bandwidth) {
      make_limit(l);
    } else if (std::find(feeders.links.begin(), feeders.links.end(), narrowest) == feeders.links.end()) {
      feeders.links.push_back(narrowest);
      feeders.bandwidth += links_[to_index(narrowest)].bandwidth;
      if (feeders.bandwidth > links_[to_index(l)].bandwidth) make_limit(l);
    }
  }
}

void FairFlows::make_limit(int l) {
  is_limit_[to_index(l)] = true;
  feeders_[to_index(l)] = {};
  for (int f = 0; f < static_cast<int>(flows_.size()); ++f) {
    const Flow& flow = flows_[to_index(f)];
    if (flow.route == kNone) continue;
    const Links& route = routes_[to_index(flow.route)];
    const auto first = links_of_routes_.begin() + static_cast<std::ptrdiff_t>(route.first);
    const auto last = links_of_routes_.begin() + static_cast<std::ptrdiff_t>(route.last);
    if (std::find(first, last, l) == last) continue;
    enter(f, l);
    if (flow.bottleneck != kNone) {
      links_[to_index(l)].load += links_[to_index(flow.bottleneck)].rate;
    } else {
      ++links_[to_index(l)].started;
      change(l);
    }
  }
}

void FairFlows::enter(int f, int l) {
  std::vector<int>& flows = links_[to_index(l)].flows;
  begin(f)[flows_[to_index(f)].hops++] = {l, static_cast<int>(flows.size())};
  flows.push_back(f);
}

int FairFlows::start(int route, double bytes, double most_bytes_per_s) {
  if (!(bytes > 0 && most_bytes_per_s > 0))
    throw std::invalid_argument("fair flows: a flow needs bytes and a rate above 0");
  int f = static_cast<int>(flows_.size());
  if (unused_.empty()) {
    flows_.emplace_back();
    hops_.resize(flows_.size() * longest_);
  } else {
    f = unused_.back();
    unused_.pop_back();
  }
  Flow& flow = flows_[to_index(f)];
  flow.route = route;
  flow.hops = 0;
  flow.bottleneck = kNone;
  flow.ends_at_bytes = bytes;
  for (std::size_t i = routes_[to_index(route)].first; i < routes_[to_index(route)].last; ++i) {
    const int l = links_of_routes_[i];
    if (!is_limit_[to_index(l)]) continue;
    enter(f, l);
    ++links_[to_index(l)].started;
    change(l);
  }
  if (most_bytes_per_s < kInfinity) enter(f, throttle(most_bytes_per_s));
  return f;
}

int FairFlows::throttle(double most_bytes_per_s) {
  if (throttles_.empty()) {
    throttles_.push_back(static_cast<int>(links_.size()));
    links_.emplace_back();
    links_.back().is_throttle = true;
    is_limit_.push_back(true);
    feeders_.resize(links_.size());
  }
  const int l = throttles_.back();
  throttles_.pop_back();
  links_[to_index(l)].bandwidth = most_bytes_per_s;
  return l;
}

void FairFlows::change(int l) {
  if (links_[to_index(l)].has_changed) return;
  links_[to_index(l)].has_changed = true;
  changed_.push_back(l);
}

void FairFlows::leave(int f) {
  Flow& flow = flows_[to_index(f)];
  const double rate = links_[to_index(flow.bottleneck)].rate;
  for (const Hop* h = begin(f); h != end(f); ++h) {
    const Hop hop = *h;
    Link& link = links_[to_index(hop.link)];
    const int last = link.flows.back();
    link.flows[to_index(hop.place)] = last;
    link.flows.pop_back();
    for (Hop* of_last = begin(last); last != f && of_last != end(last); ++of_last)
      if (of_last->link == hop.link) of_last->place = hop.place;
    link.load = link.flows.empty() ? 0 : link.load - rate;
    change(hop.link);
    if (link.is_throttle) throttles_.push_back(hop.link);
  }
  --links_[to_index(flow.bottleneck)].group;
  flow.route = kNone;
  ++flow.move;
  unused_.push_back(f);
}

double FairFlows::next_end_s() {
  settle();
  return ends_.first_s();
}

std::vector<int> FairFlows::advance(double now_s) {
  settle();
  now_s_ = std::max(now_s_, now_s);
  std::vector<int> ended;
  while (ends_.first_s() <= now_s_ + same_time_s(now_s_)) {
    const int l = ends_.first();
    Link& link = links_[to_index(l)];
    serve(link);
    const double served = link.served_bytes + link.rate * same_time_s(now_s_);
    while (!link.endings.empty() && link.endings.top().first <= served) {
      const auto [f, move] = link.endings.top().second;
      link.endings.pop();
      if (flows_[to_index(f)].move == move) ended.push_back(f);
    }
    ends_.set(l, kInfinity);  // until the change is complete
    change(l);
  }
  for (int f : ended) leave(f);
  return ended;
}

double FairFlows::rate(int f) {
  settle();
  return links_[to_index(flows_[to_index(f)].bottleneck)].rate;
}

std::vector<FairFlows::FlowState> FairFlows::states(double now_s) {
  settle();
  std::vector<FlowState> all;
  for (const Flow& flow : flows_) {
    if (flow.route == kNone) continue;
    const Link& link = links_[to_index(flow.bottleneck)];
    const double served = link.served_bytes + link.rate * (now_s - link.since_s);
    all.push_back({flow.route, link.rate, flow.ends_at_bytes - served});
  }
  return all;
}

// Simultaneous changes often concern flows that meet nowhere. Those that do not meet are settled one after the other,
// because few links are searched faster than many.
void FairFlows::settle() {
  for (int l : changed_) {
    if (!links_[to_index(l)].has_changed) continue;
    touch(links_[to_index(l)], l);
    do {
      release_changed_links();
      solve();
    } while (release_unfair_groups() || !add_to_other_links());
    commit();
  }
  changed_.clear();
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

double FairFlows::current_rate(const Flow& flow) const {
  return flow.bottleneck == kNone ? 0 : links_[to_index(flow.bottleneck)].rate;
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
  std::vector<int>& exceeded = exceeded_;
  exceeded.clear();
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
    if (is_exceeded(link)) exceeded.push_back(l);
  });
  const auto is_within = [&](int l) { return !is_exceeded(links_[to_index(l)]); };
  exceeded.erase(std::remove_if(exceeded.begin(), exceeded.end(), is_within), exceeded.end());
  if (exceeded.empty()) return true;
  for_other_links([&](Link& link, int, double change) { link.load -= change; });
  for (int l : exceeded) {
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
    link.endings.push({flow.ends_at_bytes, {f, ++flow.move}});
  }
  for (int f : shared_) links_[to_index(flows_[to_index(f)].bottleneck)].rate = flows_[to_index(f)].new_rate;
  for (int l : touched_) {
    Link& link = links_[to_index(l)];
    link.load = link.flows.empty() ? 0 : link.bandwidth - link.left;
    link.is_touched = link.is_released = false;
    link.count = 0;
    find_end(l);
  }
  shared_.clear();
  touched_.clear();
}

// Updates the bytes that the group has been served.
void FairFlows::serve(Link& link) {
  if (link.group > 0) link.served_bytes += link.rate * (now_s_ - link.since_s);
  link.since_s = now_s_;
}

void FairFlows::find_end(int l) {
  Link& link = links_[to_index(l)];
  if (link.group == 0) {
    if (link.endings.empty() && link.rate == 0) return;
    link.endings = {};
    link.served_bytes = link.rate = 0;
    ends_.set(l, kInfinity);
    return;
  }
  while (flows_[to_index(link.endings.top().second.first)].move != link.endings.top().second.second) link.endings.pop();
  ends_.set(l, now_s_ + (link.endings.top().first - link.served_bytes) / link.rate);
}

}  // namespace lockstep::sim::replay
