#include "sim/replay/shared_rounds.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/base/index.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

// Links that the messages of a phase together could fill at their own bandwidths. If a phase has several blocks,
// considers all blocks of the plan together.
std::vector<bool> links_to_share(const Plan& plan, const Cluster& cluster, double longest_call_s) {
  std::vector<bool> shared(to_index(cluster.link_count()), false);
  std::vector<double> load(shared.size(), 0);
  std::vector<int> loaded;
  const auto look = [&] {
    for (int link : loaded) {
      if (load[to_index(link)] > cluster.link_bandwidth(link) * (1 + kCapacityTolerance)) shared[to_index(link)] = true;
      load[to_index(link)] = 0;
    }
    loaded.clear();
  };
  const bool are_apart = std::all_of(plan.phases.begin(), plan.phases.end(),
                                     [](const Phase& phase) { return phase.transfers.blocks().size() == 1; });
  std::unordered_map<const Transfers::Block*, bool> known;
  Route route;
  for (const Phase& phase : plan.phases) {
    for (const auto& block : phase.transfers.blocks()) {
      if (!known.try_emplace(block.get(), true).second) continue;
      for (const Transfer& t : *block) {
        cluster.find_message_route(cluster.gpu(t.src), cluster.gpu(t.dst), route);
        const double most = longest_call_s > 0 ? static_cast<double>(t.bytes) / longest_call_s : kInfinity;
        for (int link : route.links) {
          if (load[to_index(link)] == 0) loaded.push_back(link);
          load[to_index(link)] += std::min(most, route.bandwidth_bytes_per_s);
        }
      }
    }
    if (are_apart) look();
  }
  look();
  return shared;
}

}  // namespace

// Stores the crossings of each link consecutively, with links in the order in which messages first cross them.
void RoundOfMessages::gather() {
  served_.clear();
  for (const Message& message : messages_)
    for (const int* link = message.links; link != message.links + message.link_count; ++link) {
      int& place = place_of_[to_index(*link)];
      if (place < 0) {
        place = static_cast<int>(served_.size());
        served_.push_back({*link, 0, 0, 0, 0, 0});
      }
      ++served_[to_index(place)].last;
    }
  // If a link carries a single message, it may be delayed on other links of its route.
  std::size_t first = 0, kept = 0;
  for (const Served link : served_) {
    place_of_[to_index(link.link)] = link.last > 1 ? static_cast<int>(kept) : -1;
    if (link.last < 2) continue;
    served_[kept++] = {link.link, first, first, 0, 0, 0};
    first += link.last;
  }
  served_.resize(kept);
  crossings_.resize(first);
  for (std::size_t m = 0; m < messages_.size(); ++m)
    for (const int* link = messages_[m].links; link != messages_[m].links + messages_[m].link_count; ++link)
      if (const int place = place_of_[to_index(*link)]; place >= 0)
        crossings_[served_[to_index(place)].last++] = {static_cast<int>(m), kInfinity, 0};
  for (const Served& link : served_) place_of_[to_index(link.link)] = -1;
}

void RoundOfMessages::forget_messages_of_owned_links() {
  for (std::size_t link = 0; link < is_apart_.size(); ++link)
    is_apart_[link] = owners_.has_owner(static_cast<int>(link));
}

void RoundOfMessages::share_out(Served& link, bool is_last) {
  if (is_last && crossings_[link.first].rate == kInfinity) return;  // too wide to delay any flow
  const double bandwidth = cluster_.link_bandwidth(link.link);
  flows_.clear();
  double together = 0;
  bool is_as_before = is_last;  // other links delay none of the flows
  for (std::size_t c = link.first; c < link.last; ++c) {
    const std::size_t m = to_index(crossings_[c].message);
    double most = messages_[m].most_bytes_per_s;
    const double elsewhere = crossings_[c].rate > least_[m] ? least_[m] : second_[m];
    is_as_before = is_as_before && elsewhere >= most;
    if (is_last) most = std::min(most, elsewhere);
    flows_.push_back({messages_[m].start_s, messages_[m].bytes, most});
    together += most;
  }
  if (is_as_before) {
    for (std::size_t c = link.first; c < link.last; ++c) {
      double& end_s = ends_s_[to_index(crossings_[c].message)];
      end_s = std::max(end_s, crossings_[c].end_s);
    }
    return;
  }
  if (!is_last) find_earlier(link);
  flows_.insert(flows_.end(), earlier_flows_.begin() + static_cast<std::ptrdiff_t>(link.first_earlier),
                earlier_flows_.begin() + static_cast<std::ptrdiff_t>(link.last_earlier));
  together += link.earlier_bytes_per_s;
  if (!is_last && together <= bandwidth * (1 + kCapacityTolerance)) return;
  sharing_.run(flows_, bandwidth, flow_ends_s_);
  for (std::size_t c = link.first, i = 0; c < link.last; ++c, ++i) {
    const std::size_t m = to_index(crossings_[c].message);
    if (is_last) {
      ends_s_[m] = std::max(ends_s_[m], flow_ends_s_[i]);
      continue;
    }
    crossings_[c].end_s = flow_ends_s_[i];
    crossings_[c].rate = flows_[i].bytes / (flow_ends_s_[i] - flows_[i].start_s);
    if (crossings_[c].rate < least_[m]) {
      second_[m] = least_[m];
      least_[m] = crossings_[c].rate;
    } else {
      second_[m] = std::min(second_[m], crossings_[c].rate);
    }
  }
}

// Finds the unsent rest of earlier messages when the first of flows_ starts, and forgets those that have ended by then.
void RoundOfMessages::find_earlier(Served& link) {
  link.first_earlier = link.last_earlier = earlier_flows_.size();
  if (is_apart_[to_index(link.link)]) return;
  std::vector<Earlier>& earlier = earlier_[to_index(link.link)];
  if (earlier.empty()) return;
  double first_s = kInfinity;
  for (const SharingFlow& flow : flows_) first_s = std::min(first_s, flow.start_s);
  std::size_t kept = 0;
  for (const Earlier& message : earlier) {
    const double start_s = std::max(first_s, message.start_s);
    if (message.end_s <= start_s) continue;
    earlier_flows_.push_back({start_s, message.bytes_per_s * (message.end_s - start_s), message.bytes_per_s});
    link.earlier_bytes_per_s += message.bytes_per_s;
    earlier[kept++] = message;
  }
  earlier.resize(kept);
  link.last_earlier = earlier_flows_.size();
}

// Loads the lists of links that follow in served_ into the processor's caches. They lie apart in memory, so that waiting
// for them would take half of the time on some 100,000 links.
void RoundOfMessages::prefetch_earlier(std::size_t behind) const {
  constexpr std::size_t kAhead = 12, kMost = 9, kOfLine = 3;  // links; messages; messages on a line of the cache
  const std::size_t far = behind + 2 * kAhead, near = behind + kAhead;
  if (far < served_.size()) __builtin_prefetch(&earlier_[to_index(served_[far].link)]);
  if (near >= served_.size()) return;
  const std::vector<Earlier>& list = earlier_[to_index(served_[near].link)];
  for (std::size_t i = 0; i < std::min(kMost, list.size()); i += kOfLine) __builtin_prefetch(&list[i]);
}

void RoundOfMessages::keep_for_later(const Served& link) {
  if (is_apart_[to_index(link.link)]) return;
  std::vector<Earlier>& earlier = earlier_[to_index(link.link)];
  for (std::size_t c = link.first; c < link.last; ++c) {
    const Message& message = messages_[to_index(crossings_[c].message)];
    const double end_s = ends_s_[to_index(crossings_[c].message)];
    earlier.push_back({message.start_s, end_s, message.bytes / (end_s - message.start_s)});
  }
}

const std::vector<double>& RoundOfMessages::ends_s() {
  const std::size_t n = messages_.size();
  ends_s_.resize(n);
  for (std::size_t m = 0; m < n; ++m)
    ends_s_[m] = messages_[m].start_s + messages_[m].bytes / messages_[m].most_bytes_per_s;
  gather();
  if (served_.empty()) return ends_s_;
  least_.assign(n, kInfinity);
  second_.assign(n, kInfinity);
  earlier_flows_.clear();
  for (std::size_t i = 0; i < served_.size(); ++i) {
    prefetch_earlier(i);
    share_out(served_[i], false);
  }
  for (Served& link : served_) share_out(link, true);
  for (std::size_t i = 0; i < served_.size(); ++i) {
    prefetch_earlier(i);
    keep_for_later(served_[i]);
  }
  return ends_s_;
}

SharedPlan::SharedPlan(const Plan& plan, const Cluster& cluster, double reduction_rate, RoundOfMessages& round,
                       const SharedPlan* alike)
    : reduction_rate_(reduction_rate) {
  if (plan.call) alike = nullptr;  // its links depend on its time
  if (alike) {
    first_rank_ = alike->first_rank_;
    end_rank_ = alike->end_rank_;
    has_own_links_ = alike->has_own_links_;
  } else {
    call_transfer_s_ = plan.call ? plan.call->transfer_s : 0;
    first_rank_ = plan.ranks;
  }
  const auto ends_alone = [&](const Step& step) {
    std::vector<double> ends_s = ends_of(step, std::vector<double>(to_index(plan.ranks), 0), round);
    round.forget_earlier();
    return ends_s;
  };
  const std::vector<bool> shared = alike ? std::vector<bool>() : links_to_share(plan, cluster, call_transfer_s_);
  LinkOwners owners(cluster);
  ByShape<Shape> shapes;
  for (const Phase& phase : plan.phases) {
    Step step{{}, {}, phase.rounds};
    for (const auto& transfers : phase.transfers.blocks()) {
      const std::shared_ptr<const Shape> shape = alike ? alike->steps_[steps_.size()].blocks[step.blocks.size()].shape
                                                       : shapes.of(transfers, [&](const Transfers::Block& block) {
                                                           return shape_of(block, cluster, shared, owners, round);
                                                         });
      step.blocks.push_back({shape, transfers});
    }
    if (phase.rounds > 1 && step.blocks.size() == 1) {
      const Shape& shape = *step.blocks.front().shape;
      const std::vector<double> ends_s = ends_alone(step);
      for (const std::vector<int>& transfers : rings_of(shape.src, shape.dst, plan.ranks)) {
        step.rings.emplace_back();
        for (int i : transfers) {
          step.rings.back().members.push_back(shape.src[to_index(i)]);
          step.rings.back().duration_s.push_back(ends_s[to_index(i)]);
        }
      }
    }
    steps_.push_back(std::move(step));
  }
  if (end_rank_ == 0) {  // a barrier: no rank is in a later round
    first_rank_ = 0;
    end_rank_ = plan.ranks;
  }
  if (!plan.call) return;
  call_s_ = 0;
  for (const Step& step : steps_)
    for (double end_s : ends_alone(step)) call_s_ = std::max(call_s_, end_s);
  call_s_ += call_wait_s(plan, cluster);
  steps_.clear();
}

SharedPlan::Shape SharedPlan::shape_of(const Transfers::Block& transfers, const Cluster& cluster,
                                       const std::vector<bool>& shared, LinkOwners& owners, RoundOfMessages& round) {
  Shape shape;
  Route route;
  for (const Transfer& t : transfers) {
    cluster.find_message_route(cluster.gpu(t.src), cluster.gpu(t.dst), route);
    first_rank_ = std::min({first_rank_, t.src, t.dst});
    end_rank_ = std::max({end_rank_, t.src + 1, t.dst + 1});
    shape.src.push_back(t.src);
    shape.dst.push_back(t.dst);
    shape.latency_s.push_back(route.latency_s);
    shape.bytes_per_s.push_back(route.bandwidth_bytes_per_s);
    shape.first_link.push_back(static_cast<std::uint32_t>(shape.links.size()));
    for (int link : route.links)
      if (shared[to_index(link)]) {
        shape.links.push_back(link);
        has_own_links_ = owners.cross(link, t.src, t.dst) && has_own_links_;
        round.owners().cross(link, t.src, t.dst);
      }
  }
  shape.first_link.push_back(static_cast<std::uint32_t>(shape.links.size()));
  return shape;
}

const std::vector<double>& SharedPlan::ends_of(const Step& step, const std::vector<double>& times_s,
                                               RoundOfMessages& round) const {
  std::vector<RoundOfMessages::Message>& messages = round.messages();
  messages.clear();
  for (const Block& block : step.blocks) {
    const Shape& shape = *block.shape;
    std::size_t i = 0;
    for (const Run& run : block.transfers->runs()) {
      const double bytes = static_cast<double>(run.bytes);
      double most = kInfinity;
      if (call_transfer_s_ > 0) most = bytes / call_transfer_s_;
      if (call_transfer_s_ == 0 && run.reduces && reduction_rate_ > 0) most = reduction_rate_;
      for (const std::size_t end = i + to_index(run.count); i < end; ++i)
        messages.push_back(
            {std::max(times_s[to_index(shape.src[i])], times_s[to_index(shape.dst[i])]) + shape.latency_s[i], bytes,
             std::min(most, shape.bytes_per_s[i]), shape.links.data() + shape.first_link[i],
             run.bytes > 0 ? static_cast<int>(shape.first_link[i + 1] - shape.first_link[i]) : 0});
    }
  }
  return round.ends_s();
}

void SharedPlan::run_step(const Step& step, std::vector<double>& times_s, RoundOfMessages& round,
                          std::int64_t& events) const {
  if (!step.rings.empty()) {
    for (const Ring& ring : step.rings) events += run_ring(ring, step.rounds, times_s);
    return;
  }
  for (int left = step.rounds; left > 0; --left) {
    const std::vector<double>& ends_s = ends_of(step, times_s, round);
    events += static_cast<std::int64_t>(ends_s.size());
    const std::vector<double> entered_s = left > 1 ? times_s : std::vector<double>();
    std::size_t message = 0;
    for (const Block& block : step.blocks)
      for (std::size_t i = 0; i < block.shape->src.size(); ++i, ++message)
        for (int rank : {block.shape->src[i], block.shape->dst[i]})
          times_s[to_index(rank)] = std::max(times_s[to_index(rank)], ends_s[message]);
    if (left == 1) break;
    double least = kInfinity, most = 0;
    const auto look_at_members = [&](auto&& what) {
      for (const Block& block : step.blocks)
        for (std::size_t i = 0; i < block.shape->src.size(); ++i)
          for (int rank : {block.shape->src[i], block.shape->dst[i]}) what(to_index(rank));
    };
    look_at_members([&](std::size_t rank) {
      least = std::min(least, times_s[rank] - entered_s[rank]);
      most = std::max(most, times_s[rank] - entered_s[rank]);
    });
    if (most - least > kSteady_s) continue;
    look_at_members([&](std::size_t rank) { times_s[rank] = entered_s[rank] + left * most; });
    break;
  }
}

void SharedPlan::note(const Step& step, const std::vector<double>& entered_s, const std::vector<double>& times_s,
                      int work, std::vector<GpuTimeline>& timelines) {
  for (std::size_t t = 0; t < timelines.size(); ++t) {
    const int gpu = timelines[t].gpu;
    for (const Block& block : step.blocks)
      for (const Transfer& transfer : *block.transfers) {
        const bool is_send = transfer.src == gpu;
        if (!is_send && transfer.dst != gpu) continue;
        timelines[t].add({work, is_send ? transfer.dst : transfer.src, is_send, transfer.bytes * step.rounds,
                          step.rounds, entered_s[t], times_s[to_index(gpu)]});
      }
  }
}

void SharedPlan::run(std::vector<double>& times_s, RoundOfMessages& round, std::int64_t& events, int work,
                     std::vector<GpuTimeline>& timelines) const {
  if (call_s_ >= 0) {
    const auto first = times_s.begin() + first_rank_, end = times_s.begin() + end_rank_;
    std::fill(first, end, *std::max_element(first, end) + call_s_);
    events += 1;
    return;
  }
  std::vector<double> entered_s;
  for (const Step& step : steps_) {
    entered_s.clear();
    for (const GpuTimeline& timeline : timelines) entered_s.push_back(times_s[to_index(timeline.gpu)]);
    run_step(step, times_s, round, events);
    note(step, entered_s, times_s, work, timelines);
  }
}

}  // namespace lockstep::sim::replay
