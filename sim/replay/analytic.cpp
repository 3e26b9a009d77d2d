#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/base/index.hpp"
#include "sim/replay/call_time.hpp"
#include "sim/replay/copies.hpp"
#include "sim/replay/in_flight.hpp"
#include "sim/replay/link_queue.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim {
inline namespace replay {
namespace {

using Flow = PlanCosts::Flow;

// Drops flows that another one outlasts whatever the perturbation: no less latency, no less transfer.
std::vector<Flow> longest_of(std::vector<Flow> flows) {
  std::sort(flows.begin(), flows.end(), [](const Flow& a, const Flow& b) {
    return a.latency_s != b.latency_s ? a.latency_s > b.latency_s : a.transfer_s > b.transfer_s;
  });
  std::vector<Flow> kept;
  for (const Flow& flow : flows)
    if (kept.empty() || flow.transfer_s > kept.back().transfer_s) kept.push_back(flow);
  return kept;
}

// The routes of a block's transfers.
struct BlockRoutes {
  std::vector<std::size_t> first;  // by transfer, in links; then the end of the last
  std::vector<int> links;
  std::vector<double> latency_s;
};

BlockRoutes routes_of(const Transfers::Block& block, const Cluster& cluster) {
  BlockRoutes routes;
  Route route;
  for (const Transfer& t : block) {
    cluster.find_message_route(cluster.gpu(t.src), cluster.gpu(t.dst), route);
    routes.first.push_back(routes.links.size());
    routes.links.insert(routes.links.end(), route.links.begin(), route.links.end());
    routes.latency_s.push_back(route.latency_s);
  }
  routes.first.push_back(routes.links.size());
  return routes;
}

// Bytes that cross each link in one round of a phase.
class RoundLoad {
 public:
  explicit RoundLoad(const Cluster& cluster) : bytes_(at(cluster.link_count()), 0), bandwidth_(bytes_.size()) {
    for (int link = 0; link < cluster.link_count(); ++link) bandwidth_[at(link)] = cluster.link_bandwidth(link);
  }
  /// Transfers of a round in which all flows start together and share every link evenly until the last has left.
  std::vector<Flow> flows(const Phase& phase, const std::vector<const BlockRoutes*>& routes, double reduction_rate) {
    const auto& blocks = phase.transfers.blocks();
    for_links(blocks, routes,
              [this](int link, const Transfer& t) { bytes_[at(link)] += static_cast<double>(t.bytes); });
    std::vector<Flow> flows;
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::size_t i = 0; i < blocks[b]->size(); ++i) {
        const Transfer& t = (*blocks[b])[i];
        double transfer_s = 0;
        for (std::size_t l = routes[b]->first[i]; l < routes[b]->first[i + 1]; ++l) {
          const std::size_t link = at(routes[b]->links[l]);
          transfer_s = std::max(transfer_s, bytes_[link] / bandwidth_[link]);
        }
        if (t.reduces && reduction_rate > 0)
          transfer_s = std::max(transfer_s, static_cast<double>(t.bytes) / reduction_rate);
        const Flow flow{routes[b]->latency_s[i], transfer_s};
        // Many are alike: what repeats, or is outlasted by one that is known, needs no place in the list.
        if (flows.empty() || !is_outlasted(flow, flows.back())) flows.push_back(flow);
      }
    for_links(blocks, routes, [this](int link, const Transfer&) { bytes_[at(link)] = 0; });
    return longest_of(std::move(flows));
  }

 private:
  static bool is_outlasted(const Flow& flow, const Flow& by) {
    return flow.latency_s <= by.latency_s && flow.transfer_s <= by.transfer_s;
  }
  template <typename Do>
  static void for_links(const std::vector<std::shared_ptr<const Transfers::Block>>& blocks,
                        const std::vector<const BlockRoutes*>& routes, Do&& what) {
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::size_t i = 0; i < blocks[b]->size(); ++i)
        for (std::size_t l = routes[b]->first[i]; l < routes[b]->first[i + 1]; ++l)
          what(routes[b]->links[l], (*blocks[b])[i]);
  }

  std::vector<double> bytes_, bandwidth_;  // by link
};

// Copies of one source: those of all GPUs start together and share every link until the last has ended.
PlanCosts::PhaseCost copies_cost(const Program& program, Work::Source source, const Cluster& cluster) {
  const std::vector<Route> routes = routes_of_copies(program, source, cluster);
  const double bytes = static_cast<double>(bytes_of_copy(program, source));
  std::vector<int> crossed(at(cluster.link_count()), 0);
  for (const Route& route : routes)
    for (int link : route.links) ++crossed[at(link)];
  std::vector<Flow> flows;
  for (const Route& route : routes) {
    double transfer_s = 0;
    for (int link : route.links)
      transfer_s = std::max(transfer_s, crossed[at(link)] * bytes / cluster.link_bandwidth(link));
    flows.push_back({route.latency_s, transfer_s});
  }
  return {1, longest_of(std::move(flows))};
}

using PlanCost = std::vector<PlanCosts::PhaseCost>;

PlanCost plan_cost(const Plan& plan, const Cluster& cluster, double reduction_rate) {
  if (plan.call) return {{1, {call_closed_form(plan, cluster)}}};
  PlanCost cost;
  RoundLoad load(cluster);
  std::unordered_map<const Transfers::Block*, BlockRoutes> known;
  for (const Phase& phase : plan.phases) {
    std::vector<const BlockRoutes*> routes;
    for (const auto& block : phase.transfers.blocks()) {
      const auto [of_block, is_new] = known.try_emplace(block.get());
      if (is_new) of_block->second = routes_of(*block, cluster);
      routes.push_back(&of_block->second);
    }
    cost.push_back({phase.rounds, load.flows(phase, routes, reduction_rate)});
  }
  return cost;
}

double seconds_of(const PlanCost& cost, const Perturbation& perturbation) {
  double total = 0;
  for (const PlanCosts::PhaseCost& phase : cost) {
    double longest = 0;
    for (const Flow& flow : phase.flows)
      longest = std::max(longest, flow.latency_s * perturbation.latency + flow.transfer_s / perturbation.bandwidth);
    total += phase.rounds * longest;
  }
  return total;
}

}  // namespace

double analytic_plan_s(const Plan& plan, const Cluster& cluster, double reduction_rate,
                       const Perturbation& perturbation) {
  return seconds_of(plan_cost(plan, cluster, reduction_rate), perturbation);
}

PlanCosts plan_costs(const Program& program, const Cluster& cluster) {
  PlanCosts costs;
  for (const Plan& plan : program.plans)
    costs.phases.push_back(plan_cost(plan, cluster, program.reduction_rate_bytes_per_s));
  for (const Work::Source source : input_sources(program)) costs.copies[source] = copies_cost(program, source, cluster);
  return costs;
}

Replay replay_analytic(const Program& program, const Cluster& cluster, double expected_slowest,
                       const Perturbation& perturbation) {
  return replay_analytic(program, cluster, expected_slowest, perturbation, plan_costs(program, cluster));
}

Replay replay_analytic(const Program& program, const Cluster& cluster, double expected_slowest,
                       const Perturbation& perturbation, const PlanCosts& costs) {
  std::vector<double> plan_s;
  for (const PlanCost& cost : costs.phases) plan_s.push_back(seconds_of(cost, perturbation));
  std::map<Work::Source, double> copy_s;
  for (const auto& [source, cost] : costs.copies) copy_s[source] = seconds_of({cost}, perturbation);

  Replay replay;
  replay.method = "closed form";
  replay.iteration_end_s.assign(at(program.iterations), 0);
  replay.compute_s.assign(at(program.iterations), 0);
  replay.slowed_s.assign(at(program.iterations), 0);
  replay.input_wait_s.assign(at(program.iterations), 0);
  std::vector<double> free_s(program.streams.size(), 0), end_s(program.work.size(), 0);
  LinkQueue links(program, cluster, perturbation);
  const bool is_slowed = has_slowdowns(program);
  // GPUs are in lockstep: one stands for all. Streams that share it are taken one after the other.
  const int streams = static_cast<int>(program.streams.size());
  InFlight in_flight(streams);
  WorkOrder order(program);
  for (int next = order.next(free_s, end_s); next >= 0; next = order.next(free_s, end_s)) {
    const std::size_t w = at(next);
    const Work& work = program.work[w];
    double start = free_s[at(work.stream)], input = 0;
    for (int waited : work.after) {
      double& latest = program.work[at(waited)].kind == Work::Kind::copy ? input : start;
      latest = std::max(latest, end_s[at(waited)]);
    }
    double seconds = work.seconds;
    if (work.kind == Work::Kind::compute) {
      replay.input_wait_s[at(work.iteration)] += std::max(0.0, input - start);
      replay.compute_s[at(work.iteration)] += work.seconds * perturbation.compute;
      seconds *= perturbation.compute * expected_slowest * work.crowding;
    } else if (work.kind == Work::Kind::collective) {
      seconds = work.seconds * perturbation.latency + plan_s[at(work.plan)];
    } else if (work.source != Work::Source::aside) {
      seconds = copy_s[work.source];
    }
    const double start_s = std::max(start, input);
    end_s[w] = start_s + seconds;
    if (work.kind == Work::Kind::compute && is_slowed) {
      end_s[w] = in_flight.end_s(work.stream, start_s, seconds);
      const double slowed_s = end_s[w] - start_s - seconds;
      replay.slowed_s[at(work.iteration)] += slowed_s;
      replay.compute_s[at(work.iteration)] += slowed_s;
    } else if (work.kind == Work::Kind::collective) {
      end_s[w] = links.end_s(work.plan, start_s, end_s[w]);
      for (int stream = 0; is_slowed && stream < streams; ++stream)
        in_flight.add(stream, start_s + work.seconds * perturbation.latency, end_s[w], work.slows);
    } else if (work.source != Work::Source::aside) {
      end_s[w] = links.end_s(work.source, start_s, end_s[w]);
    }
    free_s[at(work.stream)] = end_s[w];
    if (program.iteration_ends[at(work.iteration)] == static_cast<int>(w))
      replay.iteration_end_s[at(work.iteration)] = end_s[w];
  }
  replay.events = static_cast<std::int64_t>(program.work.size());
  return replay;
}

}  // namespace replay
}  // namespace lockstep::sim
