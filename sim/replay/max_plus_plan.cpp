#include "sim/replay/max_plus_plan.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim {
namespace {

constexpr double kTolerance = 1e-9;  // of a capacity
constexpr double kTouch_s = 1e-12;   // intervals that touch do not overlap
constexpr double kSteady_s = 1e-12;  // spread of the ranks' delays below which a ring is in its steady state

}  // namespace

int LinkUse::flow(int src, int dst) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(src)) << 32) | static_cast<std::uint32_t>(dst);
  const auto [entry, is_new] = index_.try_emplace(key, static_cast<int>(flows_.size()));
  if (is_new) {
    const Route& route = cluster_.route(src, dst);
    flows_.push_back({cluster_.message_latency_s(src, dst), route.bandwidth_bytes_per_s, route.links, {}});
  }
  return entry->second;
}

int LinkUse::other_flow(const Route& route) {
  flows_.push_back({route.latency_s, route.bandwidth_bytes_per_s, route.links, {}});
  return static_cast<int>(flows_.size()) - 1;
}

void LinkUse::find_contested_links() {
  const std::size_t links = at(cluster_.link_count());
  load_.assign(links, 0);
  occupied_.assign(links, {});
  for (const Flow& flow : flows_)
    for (int link : flow.links) load_[at(link)] += flow.bandwidth;
  for (Flow& flow : flows_)
    for (int link : flow.links)
      if (load_[at(link)] > cluster_.link_bandwidth(link) * (1 + kTolerance)) flow.contested.push_back(link);
  std::fill(load_.begin(), load_.end(), 0.0);
}

bool LinkUse::round_fits(const std::vector<int>& flows) {
  bool fits = true;
  for (int f : flows)
    for (int link : flows_[at(f)].contested) {
      load_[at(link)] += flows_[at(f)].bandwidth;
      fits = fits && load_[at(link)] <= cluster_.link_bandwidth(link) * (1 + kTolerance);
    }
  for (int f : flows)
    for (int link : flows_[at(f)].contested) load_[at(link)] = 0;
  return fits;
}

bool LinkUse::occupy(int flow, double start_s, double end_s) {
  for (int link : flows_[at(flow)].contested) {
    Occupied& last = occupied_[at(link)];
    const bool is_apart = start_s >= last.until_s - kTouch_s || end_s <= last.from_s + kTouch_s;
    if (last.flow >= 0 && last.flow != flow && !is_apart) return false;
    if (last.flow != flow || start_s > last.until_s) last.from_s = start_s;
    last.flow = flow;
    last.until_s = std::max(last.until_s, end_s);
  }
  return true;
}

MaxPlusPlan::MaxPlusPlan(const Plan& plan, LinkUse& links, double reduction_rate) {
  if (plan.call) {
    call_ = call_on_cluster(plan, links.cluster());
    return;
  }
  std::vector<bool> is_member(at(plan.ranks), false);
  std::vector<std::size_t> seen_in;  // by flow, the last step it was met in, counted from 1
  for (const Phase& phase : plan.phases) {
    Step step;
    step.rounds = phase.rounds;
    const std::size_t n = phase.transfers.size();
    step.is_ring = n >= 2;
    for (std::size_t i = 0; i < n; ++i) {
      const Transfer& transfer = phase.transfers[i];
      const int flow = links.flow(transfer.src, transfer.dst);
      step.src.push_back(transfer.src);
      step.dst.push_back(transfer.dst);
      step.flow.push_back(flow);
      if (at(flow) >= seen_in.size()) seen_in.resize(at(flow) + 1, 0);
      repeats_a_pair_ = repeats_a_pair_ || seen_in[at(flow)] == steps_.size() + 1;
      seen_in[at(flow)] = steps_.size() + 1;
      step.bytes.push_back(transfer.bytes);
      const bool is_limited = transfer.reduces && reduction_rate > 0;
      const double rate = is_limited ? std::min(links.bandwidth(flow), reduction_rate) : links.bandwidth(flow);
      step.duration_s.push_back(links.latency_s(flow) + static_cast<double>(transfer.bytes) / rate);
      step.is_ring = step.is_ring && transfer.dst == phase.transfers[(i + 1) % n].src;
      for (int rank : {transfer.src, transfer.dst})
        if (!is_member[at(rank)]) {
          is_member[at(rank)] = true;
          step.members.push_back(rank);
        }
    }
    step.is_ring = step.is_ring && step.members.size() == n;  // members then stand in the order of the senders
    for (int rank : step.members) is_member[at(rank)] = false;
    steps_.push_back(std::move(step));
  }
}

bool MaxPlusPlan::fits(LinkUse& links) const {
  if (call_) return call_->fits;
  // Two messages of a pair in one round share every link of their route, contested or not.
  if (repeats_a_pair_) return false;
  return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) { return links.round_fits(step.flow); });
}

bool MaxPlusPlan::run(std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const {
  if (call_) {
    const double end_s = *std::max_element(times_s.begin(), times_s.end()) + call_->seconds;
    std::fill(times_s.begin(), times_s.end(), end_s);
    events += 1;
    return true;
  }
  for (const Step& step : steps_)
    if (!run_step(step, times_s, links, events)) return false;
  return true;
}

bool MaxPlusPlan::run_noting(std::vector<double>& times_s, LinkUse& links, std::int64_t& events, int work,
                             std::vector<GpuTimeline>& timelines) const {
  if (call_) return run(times_s, links, events);  // its transfers stand for what channels send all the time
  for (const Step& step : steps_) {
    std::vector<double> entered_s;
    for (const GpuTimeline& timeline : timelines) entered_s.push_back(times_s[at(timeline.gpu)]);
    if (!run_step(step, times_s, links, events)) return false;
    for (std::size_t t = 0; t < timelines.size(); ++t) {
      const int gpu = timelines[t].gpu;
      for (std::size_t i = 0; i < step.src.size(); ++i) {
        if (step.src[i] != gpu && step.dst[i] != gpu) continue;
        const bool is_send = step.src[i] == gpu;
        timelines[t].add({work, is_send ? step.dst[i] : step.src[i], is_send, step.bytes[i] * step.rounds, step.rounds,
                          entered_s[t], times_s[at(gpu)]});
      }
    }
  }
  return true;
}

bool MaxPlusPlan::run_step(const Step& step, std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const {
  const std::size_t n = step.src.size();
  std::vector<std::pair<int, double>> starts;  // of the contested flows
  for (std::size_t i = 0; i < n; ++i)
    if (links.is_contested(step.flow[i]))
      starts.emplace_back(static_cast<int>(i), std::max(times_s[at(step.src[i])], times_s[at(step.dst[i])]));

  int evaluated = 0;
  if (step.is_ring) {
    std::vector<double> x(n);
    const double base = times_s[at(step.members[0])];  // small numbers keep the differences of rounds exact
    for (std::size_t i = 0; i < n; ++i) x[i] = times_s[at(step.members[i])] - base;
    evaluated = run_ring(step, x);
    for (std::size_t i = 0; i < n; ++i) times_s[at(step.members[i])] = x[i] + base;
  } else {
    evaluated = run_general(step, times_s);
  }
  events += static_cast<std::int64_t>(evaluated) * static_cast<std::int64_t>(n);

  for (const auto& [i, start_s] : starts) {
    const double end_s = std::min(times_s[at(step.src[at(i)])], times_s[at(step.dst[at(i)])]);
    if (!links.occupy(step.flow[at(i)], start_s, end_s)) return false;
  }
  return true;
}

// y[i] = max(max(x[i], x[i+1]) + d[i], max(x[i-1], x[i]) + d[i-1]), `rounds` times. Each rank bounds its own next time
// from below by x + d, so the recurrence has cyclicity one: it ends in a state where every round adds the same to all.
int MaxPlusPlan::run_ring(const Step& step, std::vector<double>& x) {
  const std::size_t n = x.size();
  const double* d = step.duration_s.data();
  std::vector<double> sent(n), next(n);
  int check = 1;
  for (int round = 1; round <= step.rounds; ++round) {
    for (std::size_t i = 0; i + 1 < n; ++i) sent[i] = (x[i] > x[i + 1] ? x[i] : x[i + 1]) + d[i];
    sent[n - 1] = std::max(x[n - 1], x[0]) + d[n - 1];
    next[0] = std::max(sent[0], sent[n - 1]);
    for (std::size_t i = 1; i < n; ++i) next[i] = sent[i] > sent[i - 1] ? sent[i] : sent[i - 1];
    if (round == check) {
      double least = next[0] - x[0], most = least;
      for (std::size_t i = 1; i < n; ++i) {
        const double delay = next[i] - x[i];
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
      }
      if (most - least <= kSteady_s) {
        for (double& time : next) time += (step.rounds - round) * most;
        x.swap(next);
        return round;
      }
      check += 1 + round / 4;
    }
    x.swap(next);
  }
  return step.rounds;
}

int MaxPlusPlan::run_general(const Step& step, std::vector<double>& times_s) {
  std::vector<double> next(times_s.size(), 0);
  for (int round = 1; round <= step.rounds; ++round) {
    for (int rank : step.members) next[at(rank)] = times_s[at(rank)];
    for (std::size_t i = 0; i < step.src.size(); ++i) {
      const int s = step.src[i], r = step.dst[i];
      const double end = std::max(times_s[at(s)], times_s[at(r)]) + step.duration_s[i];
      next[at(s)] = std::max(next[at(s)], end);
      next[at(r)] = std::max(next[at(r)], end);
    }
    double least = next[at(step.members[0])] - times_s[at(step.members[0])], most = least;
    for (int rank : step.members) {
      least = std::min(least, next[at(rank)] - times_s[at(rank)]);
      most = std::max(most, next[at(rank)] - times_s[at(rank)]);
      times_s[at(rank)] = next[at(rank)];
    }
    if (most - least <= kSteady_s) {
      for (int rank : step.members) times_s[at(rank)] += (step.rounds - round) * most;
      return round;
    }
  }
  return step.rounds;
}

}  // namespace lockstep::sim
