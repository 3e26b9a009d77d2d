#include "sim/replay/fair_flows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "engine/base/index.hpp"
#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr double kSameTime_s = 1e-12;  // as SimGrid is configured in sim/messages/engine.cpp

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
  if (most_bytes_per_s < kInfinity) {
    const int l = throttle(most_bytes_per_s);
    enter(f, l);
    ++links_[to_index(l)].started;
  }
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
  --links_[to_index(flow.bottleneck)].group;
  for (const Hop* h = begin(f); h != end(f); ++h) {
    const Hop hop = *h;
    Link& link = links_[to_index(hop.link)];
    const int last = link.flows.back();
    link.flows[to_index(hop.place)] = last;
    link.flows.pop_back();
    for (Hop* of_last = begin(last); last != f && of_last != end(last); ++of_last)
      if (of_last->link == hop.link) of_last->place = hop.place;
    link.load = link.flows.empty() ? 0 : link.load - rate;
    if (link.rate > 0) change(hop.link);  // else it is no bottleneck
    if (link.is_throttle) throttles_.push_back(hop.link);
  }
  flow.route = kNone;
  ++flow.move;
  unused_.push_back(f);
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
    while (!link.endings.empty() && link.endings.front().at_bytes <= served) {
      const Ending ending = link.endings.front();
      pop_ending(link);
      if (flows_[to_index(ending.flow)].move == ending.move) ended.push_back(ending.flow);
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

// Updates the bytes that the group has been served.
void FairFlows::serve(Link& link) {
  if (link.group > 0) link.served_bytes += link.rate * (now_s_ - link.since_s);
  link.since_s = now_s_;
}

void FairFlows::find_end(int l) {
  Link& link = links_[to_index(l)];
  if (link.group == 0) {
    if (link.endings.empty() && link.rate == 0) return;
    link.endings.clear();
    link.served_bytes = link.rate = 0;
    ends_.set(l, kInfinity);
    return;
  }
  while (flows_[to_index(link.endings.front().flow)].move != link.endings.front().move) pop_ending(link);
  ends_.set(l, now_s_ + (link.endings.front().at_bytes - link.served_bytes) / link.rate);
}

void FairFlows::push_ending(Link& link, int f) {
  Flow& flow = flows_[to_index(f)];
  link.endings.push_back({flow.ends_at_bytes, f, ++flow.move});
  std::push_heap(link.endings.begin(), link.endings.end(), std::greater<>());
}

void FairFlows::pop_ending(Link& link) {
  std::pop_heap(link.endings.begin(), link.endings.end(), std::greater<>());
  link.endings.pop_back();
}

}  // namespace lockstep::sim::replay
