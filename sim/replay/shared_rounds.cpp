#include "sim/replay/shared_rounds.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "engine/base/index.hpp"
#include "sim/replay/call_time.hpp"

namespace lockstep::sim {
inline namespace replay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;  // of a capacity
constexpr double kSteady_s = 1e-12;  // spread of the ranks' delays below which rounds have become alike

// Links that messages of a phase together could fill at their own bandwidths; of phases that have blocks in common, all of
// the plan's.
std::vector<bool> links_to_share(const Plan& plan, const Cluster& cluster, double longest_call_s) {
  std::vector<bool> shared(at(cluster.link_count()), false);
  std::vector<double> load(shared.size(), 0);
  std::vector<int> loaded;
  const auto look = [&] {
    for (int link : loaded) {
      if (load[at(link)] > cluster.link_bandwidth(link) * (1 + kTolerance)) shared[at(link)] = true;
      load[at(link)] = 0;
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
          if (load[at(link)] == 0) loaded.push_back(link);
          load[at(link)] += std::min(most, route.bandwidth_bytes_per_s);
        }
      }
    }
    if (are_apart) look();
  }
  look();
  return shared;
}

// Whether some rank is at an end of every message that crosses a link, link by link.
class Owners {
 public:
  explicit Owners(const Cluster& cluster) : of_link_(at(cluster.link_count()), {kUnknown, kUnknown}) {}
  /// False once the link has no such rank.
  bool cross(int link, int src, int dst) {
    auto& [a, b] = of_link_[at(link)];
    if (a == kUnknown && b == kUnknown) {
      a = src;
      b = dst;
    } else {
      if (a != src && a != dst) a = kNobody;
      if (b != src && b != dst) b = kNobody;
    }
    return a != kNobody || b != kNobody;
  }

 private:
  static constexpr int kUnknown = -2, kNobody = -1;
  std::vector<std::pair<int, int>> of_link_;  // ranks that may be it
};

}  // namespace

// Crossings of each link beside each other, links in the order in which messages first cross them.
void RoundOfMessages::gather() {
  served_.clear();
  std::size_t crossings = 0;
  for (const Message& message : messages_)
    for (const int* link = message.links; link != message.links + message.link_count; ++link, ++crossings) {
      int& place = place_of_[at(*link)];
      if (place < 0) {
        place = static_cast<int>(served_.size());
        served_.push_back({*link, 0, 0});
      }
      ++served_[at(place)].last;
    }
  std::size_t first = 0;
  for (Served& link : served_) {
    const std::size_t count = link.last;
    link.first = link.last = first;
    first += count;
  }
  crossings_.resize(crossings);
  for (std::size_t m = 0; m < messages_.size(); ++m)
    for (const int* link = messages_[m].links; link != messages_[m].links + messages_[m].link_count; ++link)
      crossings_[served_[at(place_of_[at(*link)])].last++] = {static_cast<int>(m), kInfinity};
  for (const Served& link : served_) place_of_[at(link.link)] = -1;
}

void RoundOfMessages::share_out(const Served& link, bool is_last) {
  if (is_last && crossings_[link.first].rate == kInfinity) return;  // too wide to hold anything up
  const double bandwidth = cluster_.link_bandwidth(link.link);
  flows_.clear();
  double together = 0;
  for (std::size_t c = link.first; c < link.last; ++c) {
    const std::size_t m = at(crossings_[c].message);
    double most = messages_[m].most_bytes_per_s;
    if (is_last) most = std::min(most, crossings_[c].rate > least_[m] ? least_[m] : second_[m]);
    flows_.push_back({messages_[m].start_s, messages_[m].bytes, most});
    together += most;
  }
  if (!is_last && together <= bandwidth * (1 + kTolerance)) return;
  sharing_.run(flows_, bandwidth, flow_ends_s_);
  for (std::size_t c = link.first, i = 0; c < link.last; ++c, ++i) {
    const std::size_t m = at(crossings_[c].message);
    if (is_last) {
      ends_s_[m] = std::max(ends_s_[m], flow_ends_s_[i]);
      continue;
    }
    crossings_[c].rate = flows_[i].bytes / (flow_ends_s_[i] - flows_[i].start_s);
    if (crossings_[c].rate < least_[m]) {
      second_[m] = least_[m];
      least_[m] = crossings_[c].rate;
    } else {
      second_[m] = std::min(second_[m], crossings_[c].rate);
    }
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
  for (const bool is_last : {false, true})
    for (const Served& link : served_) share_out(link, is_last);
  return ends_s_;
}

SharedPlan::SharedPlan(const Plan& plan, const Cluster& cluster, double reduction_rate, RoundOfMessages& round) {
  const double call_transfer_s = plan.call ? plan.call->transfer_s : 0;
  const std::vector<bool> shared = links_to_share(plan, cluster, call_transfer_s);
  std::unordered_map<const Transfers::Block*, std::shared_ptr<const Block>> known;
  Route route;
  Owners owners(cluster);
  first_rank_ = plan.ranks;
  const auto compiled = [&](const Transfers::Block& transfers) {
    Block block;
    for (const Transfer& t : transfers) {
      cluster.find_message_route(cluster.gpu(t.src), cluster.gpu(t.dst), route);
      double most = route.bandwidth_bytes_per_s;
      if (call_transfer_s > 0) most = std::min(most, static_cast<double>(t.bytes) / call_transfer_s);
      if (call_transfer_s == 0 && t.reduces && reduction_rate > 0) most = std::min(most, reduction_rate);
      first_rank_ = std::min({first_rank_, t.src, t.dst});
      end_rank_ = std::max({end_rank_, t.src + 1, t.dst + 1});
      block.src.push_back(t.src);
      block.dst.push_back(t.dst);
      block.latency_s.push_back(route.latency_s);
      block.bytes.push_back(static_cast<double>(t.bytes));
      block.most_bytes_per_s.push_back(most);
      block.first_link.push_back(static_cast<std::uint32_t>(block.links.size()));
      for (int link : route.links)
        if (shared[at(link)] && t.bytes > 0) {
          block.links.push_back(link);
          has_own_links_ = owners.cross(link, t.src, t.dst) && has_own_links_;
        }
    }
    block.first_link.push_back(static_cast<std::uint32_t>(block.links.size()));
    return block;
  };
  for (const Phase& phase : plan.phases) {
    Step step{{}, {}, phase.rounds};
    for (const auto& transfers : phase.transfers.blocks()) {
      std::shared_ptr<const Block>& block = known[transfers.get()];
      if (!block) block = std::make_shared<const Block>(compiled(*transfers));
      step.blocks.push_back(block);
    }
    if (phase.rounds > 1 && step.blocks.size() == 1) {
      const Block& block = *step.blocks.front();
      const std::vector<double>& ends_s = ends_of(step, std::vector<double>(at(plan.ranks), 0), round);
      for (const std::vector<int>& transfers : rings_of(block.src, block.dst, plan.ranks)) {
        step.rings.emplace_back();
        for (int i : transfers) {
          step.rings.back().members.push_back(block.src[at(i)]);
          step.rings.back().duration_s.push_back(ends_s[at(i)]);
        }
      }
    }
    steps_.push_back(std::move(step));
  }
  if (end_rank_ == 0) {  // a barrier
    first_rank_ = 0;
    end_rank_ = plan.ranks;
  }
  if (!plan.call) return;
  call_s_ = 0;
  for (const Step& step : steps_)
    for (double end_s : ends_of(step, std::vector<double>(at(plan.ranks), 0), round))
      call_s_ = std::max(call_s_, end_s);
  call_s_ += call_wait_s(plan, cluster);
  steps_.clear();
}

const std::vector<double>& SharedPlan::ends_of(const Step& step, const std::vector<double>& times_s,
                                               RoundOfMessages& round) {
  std::vector<RoundOfMessages::Message>& messages = round.messages();
  messages.clear();
  for (const auto& block : step.blocks)
    for (std::size_t i = 0; i < block->src.size(); ++i)
      messages.push_back({std::max(times_s[at(block->src[i])], times_s[at(block->dst[i])]) + block->latency_s[i],
                          block->bytes[i], block->most_bytes_per_s[i], block->links.data() + block->first_link[i],
                          static_cast<int>(block->first_link[i + 1] - block->first_link[i])});
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
    for (const auto& block : step.blocks)
      for (std::size_t i = 0; i < block->src.size(); ++i, ++message)
        for (int rank : {block->src[i], block->dst[i]})
          times_s[at(rank)] = std::max(times_s[at(rank)], ends_s[message]);
    if (left == 1) break;
    double least = kInfinity, most = 0;
    const auto look_at_members = [&](auto&& what) {
      for (const auto& block : step.blocks)
        for (std::size_t i = 0; i < block->src.size(); ++i)
          for (int rank : {block->src[i], block->dst[i]}) what(at(rank));
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
    for (const auto& block : step.blocks)
      for (std::size_t i = 0; i < block->src.size(); ++i) {
        const bool is_send = block->src[i] == gpu;
        if (!is_send && block->dst[i] != gpu) continue;
        timelines[t].add({work, is_send ? block->dst[i] : block->src[i], is_send,
                          static_cast<std::int64_t>(block->bytes[i]) * step.rounds, step.rounds, entered_s[t],
                          times_s[at(gpu)]});
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
    for (const GpuTimeline& timeline : timelines) entered_s.push_back(times_s[at(timeline.gpu)]);
    run_step(step, times_s, round, events);
    note(step, entered_s, times_s, work, timelines);
  }
}

}  // namespace replay
}  // namespace lockstep::sim
