#include "sim/replay/max_plus_plan.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/index.hpp"
#include "sim/replay/limits.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr double kTouch_s = 1e-12;  // shorter overlaps do not count

}  // namespace

int LinkUse::flow(int src, int dst) {
  const std::uint64_t pair = static_cast<std::uint64_t>(src) << 32 | static_cast<std::uint32_t>(dst);
  const auto [known, is_new] = flow_of_.try_emplace(pair, -1);
  if (is_new) {
    cluster_.find_message_route(cluster_.gpu(src), cluster_.gpu(dst), route_);
    known->second = add_flow(route_, src, dst);
  }
  return known->second;
}

int LinkUse::add_flow(const Route& route, int src, int dst) {
  flows_.push_back({route.latency_s, route.bandwidth_bytes_per_s, src, dst, static_cast<std::uint32_t>(links_.size()),
                    static_cast<std::uint16_t>(route.links.size()), false, false});
  links_.insert(links_.end(), route.links.begin(), route.links.end());
  return static_cast<int>(flows_.size()) - 1;
}

void LinkUse::add_call(const Plan& plan) {
  for (const Phase& phase : plan.phases)
    for (const auto& block : phase.transfers.blocks())
      for (const Transfer& transfer : *block) {
        cluster_.find_message_route(cluster_.gpu(transfer.src), cluster_.gpu(transfer.dst), route_);
        const int flow = other_flow(route_);
        double& rate = flows_[to_index(flow)].bandwidth;
        if (plan.call->transfer_s > 0)
          rate = std::min(rate, static_cast<double>(transfer.bytes) / plan.call->transfer_s);
      }
}

void LinkUse::find_contested_links() {
  if (flows_.empty()) return;
  const std::size_t links = to_index(cluster_.link_count());
  std::vector<double> load(links, 0);
  LinkOwners owners(cluster_);
  for (const Flow& flow : flows_)
    for (std::size_t l = flow.first_link; l < flow.first_link + flow.links; ++l) {
      load[to_index(links_[l])] += flow.bandwidth;
      owners.cross(links_[l], flow.src, flow.dst);
    }
  std::vector<bool> is_contested(links, false);
  is_watched_.assign(links, false);
  for (std::size_t l = 0; l < links; ++l) {
    const int link = static_cast<int>(l);
    is_contested[l] = load[l] > 0 && load[l] > cluster_.link_bandwidth(link) * (1 + kCapacityTolerance);
    is_watched_[l] = is_contested[l] && !owners.has_owner(link);
  }
  for (Flow& flow : flows_)
    for (std::size_t l = flow.first_link; l < flow.first_link + flow.links; ++l) {
      flow.is_contested = flow.is_contested || is_contested[to_index(links_[l])];
      flow.is_watched = flow.is_watched || is_watched_[to_index(links_[l])];
    }
  occupied_.resize(links);
}

bool LinkUse::occupy(int f, double start_s, double end_s) {
  const Flow& flow = flows_[to_index(f)];
  bool fits = true;
  for (std::size_t l = flow.first_link; l < flow.first_link + flow.links; ++l) {
    if (!is_watched_[to_index(links_[l])]) continue;
    Occupied& last = occupied_[to_index(links_[l])];
    const bool is_apart = start_s >= last.until_s - kTouch_s || end_s <= last.from_s + kTouch_s;
    if (last.flow >= 0 && last.flow != f && !is_apart) fits = false;
    if (last.flow != f || start_s > last.until_s) last.from_s = start_s;
    last.flow = f;
    last.until_s = std::max(last.until_s, end_s);
  }
  return fits;
}

MaxPlusShape MaxPlusPlan::shape_of(const Transfers::Block& transfers, LinkUse& links) {
  MaxPlusShape shape;
  std::vector<bool> is_member(to_index(links.cluster().gpus()), false);
  for (const Transfer& transfer : transfers) {
    const int flow = links.flow(transfer.src, transfer.dst);
    shape.src.push_back(transfer.src);
    shape.dst.push_back(transfer.dst);
    shape.flow.push_back(flow);
    shape.latency_s.push_back(links.latency_s(flow));
    shape.bandwidth.push_back(links.bandwidth(flow));
    for (int rank : {transfer.src, transfer.dst}) {
      if (!is_member[to_index(rank)]) shape.members.push_back(rank);
      is_member[to_index(rank)] = true;
    }
  }
  return shape;
}

// Calls what(source, destination, duration) for every transfer, in the plan's order.
template <typename Do>
void MaxPlusPlan::for_transfers(const Block& block, Do&& what) const {
  const MaxPlusShape& shape = *block.shape;
  std::size_t i = 0;
  for (const Run& run : block.transfers->runs()) {
    const double bytes = static_cast<double>(run.bytes);
    const double most = run.reduces && reduction_rate_ > 0 ? reduction_rate_ : std::numeric_limits<double>::infinity();
    for (const std::size_t end = i + to_index(run.count); i < end; ++i)
      what(shape.src[i], shape.dst[i], shape.latency_s[i] + bytes / std::min(shape.bandwidth[i], most));
  }
}

MaxPlusPlan::MaxPlusPlan(const Plan& call, const Cluster& cluster, const UnitClasses& units)
    : call_(call_on_cluster(call, cluster, units)) {}

MaxPlusPlan::MaxPlusPlan(const Plan& plan, LinkUse& links, MaxPlusShapes& shapes, double reduction_rate)
    : reduction_rate_(reduction_rate) {
  for (const Phase& phase : plan.phases) {
    Step step;
    step.rounds = phase.rounds;
    for (const auto& transfers : phase.transfers.blocks())
      step.blocks.push_back(
          {shapes.of(transfers, [&](const Transfers::Block& block) { return shape_of(block, links); }), transfers});
    if (step.blocks.size() == 1 && step.rounds > 1) {
      const MaxPlusShape& shape = *step.blocks.front().shape;
      std::vector<double> durations_s;
      for_transfers(step.blocks.front(), [&](int, int, double duration_s) { durations_s.push_back(duration_s); });
      for (const std::vector<int>& transfers : rings_of(shape.src, shape.dst, plan.ranks)) {
        step.rings.emplace_back();
        for (int i : transfers) {
          step.rings.back().members.push_back(shape.src[to_index(i)]);
          step.rings.back().duration_s.push_back(durations_s[to_index(i)]);
        }
      }
    }
    steps_.push_back(std::move(step));
  }
}

void MaxPlusPlan::find_watched(const LinkUse& links) {
  for (const Step& step : steps_)
    for (const Block& block : step.blocks) {
      block.shape->watched.clear();
      for (std::size_t i = 0; i < block.shape->flow.size(); ++i)
        if (links.is_watched(block.shape->flow[i])) block.shape->watched.push_back(static_cast<int>(i));
    }
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
  if (call_) return run(times_s, links, events);  // notes none: its transfers stand for continuous sending
  for (const Step& step : steps_) {
    std::vector<double> entered_s;
    for (const GpuTimeline& timeline : timelines) entered_s.push_back(times_s[to_index(timeline.gpu)]);
    if (!run_step(step, times_s, links, events)) return false;
    for (std::size_t t = 0; t < timelines.size(); ++t) {
      const int gpu = timelines[t].gpu;
      for (const Block& block : step.blocks)
        for (const Transfer& transfer : *block.transfers) {
          if (transfer.src != gpu && transfer.dst != gpu) continue;
          const bool is_send = transfer.src == gpu;
          timelines[t].add({work, is_send ? transfer.dst : transfer.src, is_send, transfer.bytes * step.rounds,
                            step.rounds, entered_s[t], times_s[to_index(gpu)]});
        }
    }
  }
  return true;
}

bool MaxPlusPlan::run_step(const Step& step, std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const {
  struct Start {
    const MaxPlusShape* shape;
    std::size_t transfer;
    double start_s;
  };
  std::vector<Start> starts;  // starts of the watched flows
  for (const Block& block : step.blocks)
    for (int watched : block.shape->watched) {
      const std::size_t i = to_index(watched);
      starts.push_back({block.shape.get(), i,
                        std::max(times_s[to_index(block.shape->src[i])], times_s[to_index(block.shape->dst[i])])});
    }

  if (step.rings.empty()) {
    events += run_general(step, times_s);
  } else {
    for (const Ring& ring : step.rings) events += run_ring(ring, step.rounds, times_s);
  }

  for (const auto& [shape, i, start_s] : starts) {
    const double end_s = std::min(times_s[to_index(shape->src[i])], times_s[to_index(shape->dst[i])]);
    if (!links.occupy(shape->flow[i], start_s, end_s)) return false;
  }
  return true;
}

std::int64_t MaxPlusPlan::run_general(const Step& step, std::vector<double>& times_s) const {
  std::vector<double> next(times_s.size());
  std::int64_t evaluated = 0;
  for (int round = 1; round <= step.rounds; ++round) {
    for (const Block& block : step.blocks)
      for (int rank : block.shape->members) next[to_index(rank)] = times_s[to_index(rank)];
    for (const Block& block : step.blocks) {
      for_transfers(block, [&](int s, int r, double duration_s) {
        const double end = std::max(times_s[to_index(s)], times_s[to_index(r)]) + duration_s;
        next[to_index(s)] = std::max(next[to_index(s)], end);
        next[to_index(r)] = std::max(next[to_index(r)], end);
      });
      evaluated += static_cast<std::int64_t>(block.shape->src.size());
    }
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Block& block : step.blocks)
      for (int rank : block.shape->members) {
        least = std::min(least, next[to_index(rank)] - times_s[to_index(rank)]);
        most = std::max(most, next[to_index(rank)] - times_s[to_index(rank)]);
      }
    const bool is_steady = most - least <= kSteady_s;
    const double more_s = is_steady ? (step.rounds - round) * most : 0;
    for (const Block& block : step.blocks)
      for (int rank : block.shape->members) times_s[to_index(rank)] = next[to_index(rank)];
    if (!is_steady) continue;
    if (more_s > 0) {
      std::vector<bool> is_moved(times_s.size(), false);
      for (const Block& block : step.blocks)
        for (int rank : block.shape->members)
          if (!is_moved[to_index(rank)]) {
            times_s[to_index(rank)] += more_s;
            is_moved[to_index(rank)] = true;
          }
    }
    break;
  }
  return evaluated;
}

}  // namespace lockstep::sim::replay
