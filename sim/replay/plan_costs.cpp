#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "engine/base/index.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/copies.hpp"
#include "sim/replay/link_queue.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/uneven_loads.hpp"
#include "sim/replay/unit_classes.hpp"

namespace lockstep::sim::replay {
namespace {

using Flow = PlanCosts::Flow;

// Drops flows that another flow outlasts under every perturbation: the other has no less latency and no less transfer
// time.
std::vector<Flow> longest_of(std::vector<Flow> flows) {
  std::sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) {
    return a.latency_s != b.latency_s ? a.latency_s > b.latency_s : a.transfer_s > b.transfer_s;
  });
  std::vector<Flow> kept;
  for (const Flow& flow : flows)
    if (kept.empty() || flow.transfer_s > kept.back().transfer_s) kept.push_back(flow);
  return kept;
}

// Bytes that cross each link in one round of a phase. All flows of the round start together, and share every link
// evenly until the last has ended.
class RoundLoad {
 public:
  explicit RoundLoad(const UnitClasses& units) : units_(units), bytes_(to_index(units.links()), 0) {}

  std::vector<Flow> flows(const Phase& phase, double reduction_rate) {
    for_runs(phase, [this](const Run& run, const RunOnLinks& on_links) {
      for (const RunOnLinks::Crossing& crossing : on_links.crossings)
        bytes_[to_index(crossing.link)] += crossing.messages * static_cast<double>(run.bytes);
    });
    std::vector<Flow> flows;
    for_runs(phase, [&](const Run& run, const RunOnLinks& on_links) {
      for (const RunOnLinks::CrossedRoute* route : on_links.routes) {
        double transfer_s = 0;
        for (int link : route->links)
          transfer_s = std::max(transfer_s, bytes_[to_index(link)] / units_.bandwidth(link));
        if (run.reduces && reduction_rate > 0)
          transfer_s = std::max(transfer_s, static_cast<double>(run.bytes) / reduction_rate);
        const Flow flow{route->latency_s, transfer_s};
        // Many flows are equal. Skips a flow that repeats a known one or never outlasts it.
        if (flows.empty() || !is_outlasted(flow, flows.back())) flows.push_back(flow);
      }
    });
    for_runs(phase, [this](const Run&, const RunOnLinks& on_links) {
      for (const RunOnLinks::Crossing& crossing : on_links.crossings) bytes_[to_index(crossing.link)] = 0;
    });
    return longest_of(std::move(flows));
  }

 private:
  static bool is_outlasted(const Flow& flow, const Flow& by) {
    return flow.latency_s <= by.latency_s && flow.transfer_s <= by.transfer_s;
  }
  template <typename Do>
  void for_runs(const Phase& phase, Do&& what) const {
    for (const auto& block : phase.transfers.blocks())
      for (const Run& run : block->runs()) what(run, units_.find(run));
  }

  const UnitClasses& units_;
  std::vector<double> bytes_;  // by link
};

// The copies from one source: those to all GPUs start together, and share every link until the last has ended.
PlanCosts::PhaseCost copies_cost(const Program& program, Work::Source source, const Cluster& cluster) {
  const std::vector<Route> routes = routes_of_copies(program, source, cluster);
  const double bytes = static_cast<double>(bytes_of_copy(program, source));
  std::vector<int> crossed(to_index(cluster.link_count()), 0);
  for (const Route& route : routes)
    for (int link : route.links) ++crossed[to_index(link)];
  std::vector<Flow> flows;
  for (const Route& route : routes) {
    double transfer_s = 0;
    for (int link : route.links)
      transfer_s = std::max(transfer_s, crossed[to_index(link)] * bytes / cluster.link_bandwidth(link));
    flows.push_back({route.latency_s, transfer_s});
  }
  return {1, longest_of(std::move(flows))};
}

using PlanCost = std::vector<PlanCosts::PhaseCost>;

PlanCost plan_cost(const Plan& plan, const UnitClasses& units, double reduction_rate) {
  if (plan.call) return {{1, {call_closed_form(plan, units)}}};
  RoundLoad load(units);
  PlanCost cost;
  for (const Phase& phase : plan.phases) cost.push_back({phase.rounds, load.flows(phase, reduction_rate)});
  return cost;
}

// Bytes of each phase's messages, if all messages of the phase have equal size; else none.
std::optional<std::vector<double>> bytes_of_phases(const Plan& plan) {
  std::vector<double> bytes;
  for (const Phase& phase : plan.phases) {
    std::int64_t of_phase = -1;
    for (const auto& block : phase.transfers.blocks()) {
      const std::int64_t of_block = block->bytes_of_each_transfer();
      if (of_block < 0 || (of_phase >= 0 && of_phase != of_block)) return std::nullopt;
      of_phase = of_block;
    }
    bytes.push_back(static_cast<double>(of_phase));
  }
  return bytes;
}

// Returns the plan with messages of one byte each.
Plan of_one_byte(const Plan& plan) {
  std::unordered_map<const Transfers::Block*, std::shared_ptr<const Transfers::Block>> known;
  Plan of_one = plan;
  for (Phase& phase : of_one.phases.edit()) {
    const Transfers transfers = std::exchange(phase.transfers, Transfers());
    for (const auto& block : transfers.blocks()) {
      auto& mine = known[block.get()];
      if (!mine) mine = std::make_shared<const Transfers::Block>(block->of_bytes(1));
      phase.transfers.append(mine);
    }
  }
  return of_one;
}

// The costs of a program's messages on links, computed at the first request.
class ProgramOnLinks {
 public:
  ProgramOnLinks(const Program& program, const Cluster& cluster) : program_(program), cluster_(cluster) {}
  const UnitClasses& units() {
    if (units_) return *units_;
    std::vector<const Plan*> plans;
    for (const Plan& plan : program_.plans) plans.push_back(&plan);
    units_ = std::make_shared<const UnitClasses>(plans, cluster_, has_input_on_links(program_));
    return *units_;
  }
  UnevenLoads& uneven() {
    if (!uneven_) uneven_ = std::make_unique<UnevenLoads>(units(), program_.reduction_rate_bytes_per_s);
    return *uneven_;
  }
  std::shared_ptr<const UnitClasses> found() const { return units_; }

 private:
  const Program& program_;
  const Cluster& cluster_;
  std::shared_ptr<const UnitClasses> units_;
  std::unique_ptr<UnevenLoads> uneven_;
};

}  // namespace

// Costs of a program's collectives on a cluster. They are computed with messages of one byte, once for all collectives
// that differ only in size, such as a job's buckets.
class CollectiveCosts {
 public:
  explicit CollectiveCosts(double reduction_rate) : reduction_rate_(reduction_rate) {}

  double reduction_rate() const { return reduction_rate_; }

  SharedVector<PlanCost> find_costs(const std::vector<Plan>& plans, ProgramOnLinks& program) {
    if (are_latest(plans)) return latest_costs_;
    std::vector<PlanCost> costs;
    for (const Plan& plan : plans) costs.push_back(find_cost(plan, program));
    latest_ = plans;
    latest_costs_ = std::move(costs);
    return latest_costs_;
  }

 private:
  // True if the plans are copies of the latest ones. As these keep their phases, other phases have other addresses.
  bool are_latest(const std::vector<Plan>& plans) const {
    const auto is_copy = [](const Plan& a, const Plan& b) {
      return &a.phases.get() == &b.phases.get() && !a.call && !b.call;
    };
    return std::equal(plans.begin(), plans.end(), latest_.begin(), latest_.end(), is_copy);
  }

  PlanCost find_cost(const Plan& plan, ProgramOnLinks& program) {
    if (plan.phases.empty()) return {};
    const std::optional<std::vector<double>> bytes = plan.call ? std::nullopt : bytes_of_phases(plan);
    if (!bytes) return plan.call ? plan_cost(plan, program.units(), reduction_rate_) : uneven_cost(plan, program);
    auto known = std::find_if(known_.begin(), known_.end(),
                              [&](const auto& one) { return differ_only_in_bytes(one.first, plan); });
    if (known == known_.end()) {
      const Plan of_one = of_one_byte(plan);
      known_.emplace_front(of_one, plan_cost(of_one, program.units(), reduction_rate_));
      if (known_.size() > kMostKnown) known_.pop_back();
    } else {
      known_.splice(known_.begin(), known_, known);
    }
    known = known_.begin();
    PlanCost cost = known->second;
    for (std::size_t p = 0; p < cost.size(); ++p)
      for (Flow& flow : cost[p].flows) flow.transfer_s *= (*bytes)[p];
    return cost;
  }

  // Messages of a phase differ in size.
  PlanCost uneven_cost(const Plan& plan, ProgramOnLinks& program) {
    RoundLoad load(program.units());
    PlanCost cost;
    for (const Phase& phase : plan.phases) {
      const auto& blocks = phase.transfers.blocks();
      auto flows = blocks.size() == 1 ? program.uneven().flows(*blocks.front()) : std::nullopt;
      cost.push_back({phase.rounds, flows ? longest_of(std::move(*flows)) : load.flows(phase, reduction_rate_)});
    }
    return cost;
  }

  static constexpr std::size_t kMostKnown = 64;
  double reduction_rate_;
  std::list<std::pair<Plan, PlanCost>> known_;  // most recently used first
  std::vector<Plan> latest_;
  SharedVector<PlanCost> latest_costs_;
};

double seconds_of(const std::vector<PlanCosts::PhaseCost>& phases, const Perturbation& perturbation) {
  double total = 0;
  for (const PlanCosts::PhaseCost& phase : phases) {
    double longest = 0;
    for (const Flow& flow : phase.flows)
      longest = std::max(longest, flow.latency_s * perturbation.latency + flow.transfer_s / perturbation.bandwidth);
    total += phase.rounds * longest;
  }
  return total;
}

double analytic_plan_s(const Plan& plan, const Cluster& cluster, double reduction_rate,
                       const Perturbation& perturbation) {
  return seconds_of(plan_cost(plan, UnitClasses({&plan}, cluster), reduction_rate), perturbation);
}

PlanCosts plan_costs(const Program& program, const Cluster& cluster, KnownCosts* shared) {
  PlanCosts costs;
  KnownCosts own;
  auto& found = (shared != nullptr ? *shared : own).found;
  if (!found || found->reduction_rate() != program.reduction_rate_bytes_per_s)
    found = std::make_shared<CollectiveCosts>(program.reduction_rate_bytes_per_s);
  CollectiveCosts& known = *found;
  ProgramOnLinks on_links(program, cluster);
  costs.phases = known.find_costs(program.plans, on_links);
  for (const Work::Source source : input_sources(program)) costs.copies[source] = copies_cost(program, source, cluster);
  if (has_busy_links(program)) find_busy_links(program, cluster, on_links.units(), on_links.uneven(), costs);
  costs.units = on_links.found();
  return costs;
}

}  // namespace lockstep::sim::replay
