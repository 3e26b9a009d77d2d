#include "sim/replay/max_plus_plan.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/index.hpp"

namespace lockstep::sim {
inline namespace replay {
namespace {

constexpr double kTolerance = 1e-9;  // of a capacity
constexpr double kTouch_s = 1e-12;   // intervals that touch do not overlap
constexpr double kSteady_s = 1e-12;  // spread of the ranks' delays below which a step is in its steady state

}  // namespace

int LinkUse::flow(int src, int dst) {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(src)) << 32) | static_cast<std::uint32_t>(dst);
  const auto [entry, is_new] = index_.try_emplace(key, static_cast<int>(flows_.size()));
  if (is_new) {
    cluster_.find_message_route(cluster_.gpu(src), cluster_.gpu(dst), route_);
    other_flow(route_);
  }
  return entry->second;
}

int LinkUse::other_flow(const Route& route) {
  flows_.push_back({route.latency_s, route.bandwidth_bytes_per_s, static_cast<std::uint32_t>(links_.size()),
                    static_cast<std::uint16_t>(route.links.size()), false});
  links_.insert(links_.end(), route.links.begin(), route.links.end());
  return static_cast<int>(flows_.size()) - 1;
}

void LinkUse::add_call(const Plan& plan) {
  for (const Phase& phase : plan.phases)
    for (const auto& block : phase.transfers.blocks())
      for (const Transfer& transfer : *block) {
        cluster_.find_message_route(cluster_.gpu(transfer.src), cluster_.gpu(transfer.dst), route_);
        const int flow = other_flow(route_);
        double& rate = flows_[at(flow)].bandwidth;
        if (plan.call->transfer_s > 0)
          rate = std::min(rate, static_cast<double>(transfer.bytes) / plan.call->transfer_s);
      }
}

void LinkUse::find_contested_links() {
  const std::size_t links = at(cluster_.link_count());
  load_.assign(links, 0);
  is_contested_.assign(links, false);
  for (const Flow& flow : flows_)
    for (std::size_t l = flow.first_link; l < flow.first_link + flow.links; ++l) load_[at(links_[l])] += flow.bandwidth;
  for (std::size_t l = 0; l < links; ++l)
    is_contested_[l] = load_[l] > 0 && load_[l] > cluster_.link_bandwidth(static_cast<int>(l)) * (1 + kTolerance);
  for (Flow& flow : flows_)
    for (std::size_t l = flow.first_link; l < flow.first_link + flow.links; ++l)
      flow.is_contested = flow.is_contested || is_contested_[at(links_[l])];
  std::fill(load_.begin(), load_.end(), 0.0);
}

template <typename Do>
void LinkUse::for_contested_links(int f, Do&& what) {
  const Flow& flow = flows_[at(f)];
  if (!flow.is_contested) return;
  for (std::size_t l = flow.first_link; l < flow.first_link + flow.links; ++l)
    if (is_contested_[at(links_[l])]) what(links_[l], flow);
}

bool LinkUse::join_round(const std::vector<int>& flows) {
  bool fits = true;
  for (int f : flows)
    for_contested_links(f, [&](int link, const Flow& flow) {
      load_[at(link)] += flow.bandwidth;
      loaded_.push_back(link);
      fits = fits && load_[at(link)] <= cluster_.link_bandwidth(link) * (1 + kTolerance);
    });
  return fits;
}

void LinkUse::end_round() {
  for (int link : loaded_) load_[at(link)] = 0;
  loaded_.clear();
}

bool LinkUse::occupy(int f, double start_s, double end_s) {
  if (occupied_.empty()) occupied_.resize(load_.size());
  bool fits = true;
  for_contested_links(f, [&](int link, const Flow&) {
    Occupied& last = occupied_[at(link)];
    const bool is_apart = start_s >= last.until_s - kTouch_s || end_s <= last.from_s + kTouch_s;
    if (last.flow >= 0 && last.flow != f && !is_apart) fits = false;
    if (last.flow != f || start_s > last.until_s) last.from_s = start_s;
    last.flow = f;
    last.until_s = std::max(last.until_s, end_s);
  });
  return fits;
}

MaxPlusPlan::Block MaxPlusPlan::compiled(const Transfers::Block& transfers, LinkUse& links, double reduction_rate) {
  Block block;
  for (const Transfer& transfer : transfers) {
    const int flow = links.flow(transfer.src, transfer.dst);
    block.src.push_back(transfer.src);
    block.dst.push_back(transfer.dst);
    block.flow.push_back(flow);
    block.bytes.push_back(transfer.bytes);
    const bool is_limited = transfer.reduces && reduction_rate > 0;
    const double rate = is_limited ? std::min(links.bandwidth(flow), reduction_rate) : links.bandwidth(flow);
    block.duration_s.push_back(links.latency_s(flow) + static_cast<double>(transfer.bytes) / rate);
  }
  block.members = block.src;
  block.members.insert(block.members.end(), block.dst.begin(), block.dst.end());
  std::sort(block.members.begin(), block.members.end());
  block.members.erase(std::unique(block.members.begin(), block.members.end()), block.members.end());
  return block;
}

MaxPlusPlan::MaxPlusPlan(const Plan& plan, LinkUse& links, double reduction_rate) {
  if (plan.call) {
    call_ = call_on_cluster(plan, links.cluster());
    return;
  }
  std::unordered_map<const Transfers::Block*, std::shared_ptr<Block>> known;
  std::vector<std::size_t> seen_in;  // by flow, the last step it was met in, counted from 1
  for (const Phase& phase : plan.phases) {
    Step step;
    step.rounds = phase.rounds;
    for (const auto& transfers : phase.transfers.blocks()) {
      std::shared_ptr<Block>& block = known[transfers.get()];
      if (!block) block = std::make_shared<Block>(compiled(*transfers, links, reduction_rate));
      step.blocks.push_back(block);
      for (int flow : block->flow) {
        if (at(flow) >= seen_in.size()) seen_in.resize(at(flow) + 1, 0);
        repeats_a_pair_ = repeats_a_pair_ || seen_in[at(flow)] == steps_.size() + 1;
        seen_in[at(flow)] = steps_.size() + 1;
      }
    }
    if (step.blocks.size() == 1) {
      const Block& block = *step.blocks.front();
      for (const std::vector<int>& transfers : rings_of(block.src, block.dst, plan.ranks)) {
        step.rings.emplace_back();
        for (int i : transfers) {
          step.rings.back().members.push_back(block.src[at(i)]);
          step.rings.back().duration_s.push_back(block.duration_s[at(i)]);
        }
      }
    }
    steps_.push_back(std::move(step));
  }
}

void MaxPlusPlan::find_contested(const LinkUse& links) {
  for (const Step& step : steps_)
    for (const auto& block : step.blocks) {
      block->contested.clear();
      for (std::size_t i = 0; i < block->flow.size(); ++i)
        if (links.is_contested(block->flow[i])) block->contested.push_back(static_cast<int>(i));
    }
}

bool MaxPlusPlan::fits(LinkUse& links) const {
  if (call_) return call_->fits;
  // Two messages of a pair in one round share every link of their route, contested or not.
  if (repeats_a_pair_) return false;
  return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    const bool fits = std::all_of(step.blocks.begin(), step.blocks.end(), [&](const auto& block) {
      return block->contested.empty() || links.join_round(block->flow);
    });
    links.end_round();
    return fits;
  });
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
      for (const auto& block : step.blocks)
        for (std::size_t i = 0; i < block->src.size(); ++i) {
          if (block->src[i] != gpu && block->dst[i] != gpu) continue;
          const bool is_send = block->src[i] == gpu;
          timelines[t].add({work, is_send ? block->dst[i] : block->src[i], is_send, block->bytes[i] * step.rounds,
                            step.rounds, entered_s[t], times_s[at(gpu)]});
        }
    }
  }
  return true;
}

bool MaxPlusPlan::run_step(const Step& step, std::vector<double>& times_s, LinkUse& links, std::int64_t& events) const {
  struct Start {
    const Block* block;
    std::size_t transfer;
    double start_s;
  };
  std::vector<Start> starts;  // of the contested flows
  for (const auto& block : step.blocks)
    for (int contested : block->contested) {
      const std::size_t i = at(contested);
      starts.push_back({block.get(), i, std::max(times_s[at(block->src[i])], times_s[at(block->dst[i])])});
    }

  if (step.rings.empty()) {
    events += run_general(step, times_s);
  } else {
    for (const Ring& ring : step.rings) events += run_ring(ring, step.rounds, times_s);
  }

  for (const auto& [block, i, start_s] : starts) {
    const double end_s = std::min(times_s[at(block->src[i])], times_s[at(block->dst[i])]);
    if (!links.occupy(block->flow[i], start_s, end_s)) return false;
  }
  return true;
}

std::int64_t MaxPlusPlan::run_general(const Step& step, std::vector<double>& times_s) {
  std::vector<double> next(times_s.size());
  std::int64_t evaluated = 0;
  for (int round = 1; round <= step.rounds; ++round) {
    for (const auto& block : step.blocks)
      for (int rank : block->members) next[at(rank)] = times_s[at(rank)];
    for (const auto& block : step.blocks) {
      for (std::size_t i = 0; i < block->src.size(); ++i) {
        const int s = block->src[i], r = block->dst[i];
        const double end = std::max(times_s[at(s)], times_s[at(r)]) + block->duration_s[i];
        next[at(s)] = std::max(next[at(s)], end);
        next[at(r)] = std::max(next[at(r)], end);
      }
      evaluated += static_cast<std::int64_t>(block->src.size());
    }
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const auto& block : step.blocks)
      for (int rank : block->members) {
        least = std::min(least, next[at(rank)] - times_s[at(rank)]);
        most = std::max(most, next[at(rank)] - times_s[at(rank)]);
      }
    const bool is_steady = most - least <= kSteady_s;
    const double more_s = is_steady ? (step.rounds - round) * most : 0;
    for (const auto& block : step.blocks)
      for (int rank : block->members) times_s[at(rank)] = next[at(rank)];
    if (!is_steady) continue;
    if (more_s > 0) {
      std::vector<bool> is_moved(times_s.size(), false);
      for (const auto& block : step.blocks)
        for (int rank : block->members)
          if (!is_moved[at(rank)]) {
            times_s[at(rank)] += more_s;
            is_moved[at(rank)] = true;
          }
    }
    break;
  }
  return evaluated;
}

}  // namespace replay
}  // namespace lockstep::sim
