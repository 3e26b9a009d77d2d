#include "sim/replay/shared_rounds.hpp"

#include <algorithm>
#include <map>
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
  const std::vector<double> at_once(to_index(plan.ranks), 0);
  const auto ends_alone = [&](const Step& step) {
    find_ends(step, at_once, round);
    round.forget_earlier(*step.layout);
    std::vector<double> ends_s;
    for_messages(step, round, [&](int, int, double end_s) { ends_s.push_back(end_s); });
    return ends_s;
  };
  const std::vector<bool> shared = alike ? std::vector<bool>() : links_to_share(plan, cluster, call_transfer_s_);
  LinkOwners owners(cluster);
  ByShape<Shape> shapes;
  std::map<std::vector<const Shape*>, std::shared_ptr<const RoundLayout>> layouts;  // of rounds without empty messages
  for (const Phase& phase : plan.phases) {
    Step step{{}, {}, phase.rounds, nullptr};
    for (const auto& transfers : phase.transfers.blocks()) {
      const std::shared_ptr<const Shape> shape = alike ? alike->steps_[steps_.size()].blocks[step.blocks.size()].shape
                                                       : shapes.of(transfers, [&](const Transfers::Block& block) {
                                                           return shape_of(block, cluster, shared, owners, round);
                                                         });
      step.blocks.push_back({shape, transfers});
    }
    const Step* const other = alike ? &alike->steps_[steps_.size()] : nullptr;
    if (has_empty_messages(step)) {
      step.layout = std::make_shared<const RoundLayout>(layout_of(step, plan.ranks, cluster));
    } else if (other && !has_empty_messages(*other)) {
      step.layout = other->layout;
    } else {
      std::vector<const Shape*> key;
      for (const Block& block : step.blocks) key.push_back(block.shape.get());
      std::shared_ptr<const RoundLayout>& known = layouts[key];
      if (!known) known = std::make_shared<const RoundLayout>(layout_of(step, plan.ranks, cluster));
      step.layout = known;
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

bool SharedPlan::has_empty_messages(const Step& step) {
  const auto is_empty = [](const Run& run) { return run.bytes <= 0; };
  return std::any_of(step.blocks.begin(), step.blocks.end(), [&](const Block& block) {
    return std::any_of(block.transfers->runs().begin(), block.transfers->runs().end(), is_empty);
  });
}

// Messages without bytes meet no others.
RoundLayout SharedPlan::layout_of(const Step& step, int ranks, const Cluster& cluster) {
  std::vector<MessageLinks> messages;
  for (const Block& block : step.blocks) {
    const Shape& shape = *block.shape;
    std::size_t i = 0;
    for (const Run& run : block.transfers->runs())
      for (const std::size_t end = i + to_index(run.count); i < end; ++i)
        messages.push_back({shape.src[i],
                            run.bytes > 0 ? static_cast<int>(shape.first_link[i + 1] - shape.first_link[i]) : 0,
                            shape.links.data() + shape.first_link[i]});
  }
  return lay_out_round(messages, ranks, cluster);
}

void SharedPlan::find_ends(const Step& step, const std::vector<double>& times_s, RoundOfMessages& round) const {
  std::vector<RoundOfMessages::Message>& messages = round.messages();
  const std::vector<std::uint32_t>& place_of = step.layout->place_of;
  messages.resize(place_of.size());
  auto place = place_of.begin();
  for (const Block& block : step.blocks) {
    const Shape& shape = *block.shape;
    std::size_t i = 0;
    for (const Run& run : block.transfers->runs()) {
      const double bytes = static_cast<double>(run.bytes);
      double most = kInfinity;
      if (call_transfer_s_ > 0) most = bytes / call_transfer_s_;
      if (call_transfer_s_ == 0 && run.reduces && reduction_rate_ > 0) most = reduction_rate_;
      for (const std::size_t end = i + to_index(run.count); i < end; ++i)
        messages[*place++] = {
            std::max(times_s[to_index(shape.src[i])], times_s[to_index(shape.dst[i])]) + shape.latency_s[i], bytes,
            std::min(most, shape.bytes_per_s[i])};
    }
  }
  round.find_ends(*step.layout);
}

// Calls visit(sender, receiver, end) for each message of the step's latest round.
template <typename Visit>
void SharedPlan::for_messages(const Step& step, RoundOfMessages& round, Visit&& visit) {
  auto place = step.layout->place_of.begin();
  for (const Block& block : step.blocks)
    for (std::size_t i = 0; i < block.shape->src.size(); ++i)
      visit(block.shape->src[i], block.shape->dst[i], round.messages()[*place++].end_s);
}

void SharedPlan::run_step(const Step& step, std::vector<double>& times_s, RoundOfMessages& round,
                          std::int64_t& events) const {
  if (!step.rings.empty()) {
    for (const Ring& ring : step.rings) events += run_ring(ring, step.rounds, times_s);
    return;
  }
  for (int left = step.rounds; left > 0; --left) {
    find_ends(step, times_s, round);
    events += static_cast<std::int64_t>(step.layout->place_of.size());
    const std::vector<double> entered_s = left > 1 ? times_s : std::vector<double>();
    for_messages(step, round, [&](int src, int dst, double end_s) {
      for (int rank : {src, dst}) times_s[to_index(rank)] = std::max(times_s[to_index(rank)], end_s);
    });
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
