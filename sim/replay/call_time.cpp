#include "sim/replay/call_time.hpp"

#include <algorithm>

#include "engine/base/index.hpp"

namespace lockstep::sim {
inline namespace replay {
namespace {

constexpr double kTolerance = 1e-6;  // of a capacity: sizes are rounded up to whole bytes

double longest_latency_s(const Plan& plan, const Cluster& cluster) {
  double longest = 0;
  for (const Phase& phase : plan.phases)
    for (const Transfer& t : phase.transfers) longest = std::max(longest, cluster.message_latency_s(t.src, t.dst));
  return longest;
}

}  // namespace

double call_wait_s(const Plan& plan, const Cluster& cluster) {
  return std::max(0.0, plan.call->latency_s - longest_latency_s(plan, cluster));
}

CallOnCluster call_on_cluster(const Plan& plan, const Cluster& cluster) {
  CallOnCluster call{0, true};
  std::vector<double> load(at(cluster.link_count()), 0);
  Route route;
  for (const Phase& phase : plan.phases)
    for (const Transfer& t : phase.transfers) {
      cluster.find_message_route(cluster.gpu(t.src), cluster.gpu(t.dst), route);
      const double bytes = static_cast<double>(t.bytes);
      const double rate = std::min(bytes / plan.call->transfer_s, route.bandwidth_bytes_per_s);
      call.seconds = std::max(call.seconds, route.latency_s + bytes / rate);
      for (int link : route.links) {
        load[at(link)] += rate;
        call.fits = call.fits && load[at(link)] <= cluster.link_bandwidth(link) * (1 + kTolerance);
      }
    }
  call.seconds += call_wait_s(plan, cluster);
  return call;
}

PlanCosts::Flow call_closed_form(const Plan& plan, const Cluster& cluster) {
  double transfer_s = plan.call->transfer_s;
  std::vector<double> load(at(cluster.link_count()), 0);
  Route route;
  for (const Phase& phase : plan.phases)
    for (const Transfer& t : phase.transfers) {
      cluster.find_message_route(cluster.gpu(t.src), cluster.gpu(t.dst), route);
      for (int link : route.links) {
        load[at(link)] += static_cast<double>(t.bytes);
        transfer_s = std::max(transfer_s, load[at(link)] / cluster.link_bandwidth(link));
      }
    }
  return {std::max(plan.call->latency_s, longest_latency_s(plan, cluster)), transfer_s};
}

}  // namespace replay
}  // namespace lockstep::sim
