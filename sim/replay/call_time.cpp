#include "sim/replay/call_time.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {
namespace {

constexpr std::int64_t kMostMessages = 100'000;  // per operation, to compute one by one: some tenths of a second
constexpr double kSizeTolerance = 1e-6;          // of a capacity, since sizes are rounded up to whole bytes

template <typename Do>
void for_runs(const Plan& plan, const UnitClasses& units, Do&& what) {
  for (const Phase& phase : plan.phases)
    for (const auto& block : phase.transfers.blocks())
      for (const Run& run : block->runs()) what(run, units.find(run));
}

double longest_latency_s(const Plan& plan, const UnitClasses& units) {
  double longest = 0;
  for_runs(plan, units, [&](const Run&, const RunOnLinks& on_links) {
    for (const RunOnLinks::CrossedRoute* route : on_links.routes) longest = std::max(longest, route->latency_s);
  });
  return longest;
}

double wait_s(const Plan& plan, const UnitClasses& units) {
  return std::max(0.0, plan.call->latency_s - longest_latency_s(plan, units));
}

}  // namespace

double call_wait_s(const Plan& plan, const Cluster& cluster) {
  return wait_s(plan, UnitClasses({&plan}, cluster));
}

CallOnCluster call_on_cluster(const Plan& plan, const Cluster& cluster, const UnitClasses& units) {
  CallOnCluster call{0, true};
  std::vector<double> load(to_index(units.links()), 0);
  for_runs(plan, units, [&](const Run& run, const RunOnLinks& on_links) {
    const double bytes = static_cast<double>(run.bytes), rate = bytes / plan.call->transfer_s;
    for (const RunOnLinks::CrossedRoute* route : on_links.routes)
      call.seconds = std::max(call.seconds, route->latency_s + bytes / std::min(rate, route->route_bytes_per_s));
    for (const RunOnLinks::Crossing& crossing : on_links.crossings)
      load[to_index(crossing.link)] += crossing.messages * std::min(rate, crossing.route_bytes_per_s);
  });
  for (int link = 0; link < units.links(); ++link)
    call.fits = call.fits && load[to_index(link)] <= units.bandwidth(link) * (1 + kSizeTolerance);
  call.seconds += wait_s(plan, units);
  if (call.fits || plan.messages() > kMostMessages) return call;
  const std::vector<double> ends_s = plan_by_flows(plan, cluster, std::vector<double>(to_index(plan.ranks), 0));
  return {*std::max_element(ends_s.begin(), ends_s.end()), true};
}

PlanCosts::Flow call_closed_form(const Plan& plan, const UnitClasses& units) {
  std::vector<double> bytes(to_index(units.links()), 0);
  for_runs(plan, units, [&](const Run& run, const RunOnLinks& on_links) {
    for (const RunOnLinks::Crossing& crossing : on_links.crossings)
      bytes[to_index(crossing.link)] += crossing.messages * static_cast<double>(run.bytes);
  });
  double transfer_s = plan.call->transfer_s;
  for (int link = 0; link < units.links(); ++link)
    if (bytes[to_index(link)] > 0) transfer_s = std::max(transfer_s, bytes[to_index(link)] / units.bandwidth(link));
  return {std::max(plan.call->latency_s, longest_latency_s(plan, units)), transfer_s};
}

}  // namespace lockstep::sim::replay
