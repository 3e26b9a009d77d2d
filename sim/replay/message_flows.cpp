#include "sim/replay/message_flows.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/base/format_printf.hpp"
#include "engine/base/index.hpp"
#include "engine/base/units.hpp"

namespace lockstep::sim::replay {
namespace {

std::vector<double> bandwidths_of(const Cluster& cluster) {
  std::vector<double> bandwidths;
  bandwidths.reserve(to_index(cluster.link_count()));
  for (int link = 0; link < cluster.link_count(); ++link) bandwidths.push_back(cluster.link_bandwidth(link));
  return bandwidths;
}

}  // namespace

MessageFlows::MessageFlows(const Cluster& cluster) : cluster_(cluster), flows_(bandwidths_of(cluster)) {}

int MessageFlows::way(const Cluster& cluster, Endpoint from, Endpoint to) {
  const auto number = [this](Endpoint end) {
    return static_cast<std::uint64_t>(end.node) * to_index(cluster_.layout().endpoints()) + to_index(end.part);
  };
  const auto [known, is_new] =
      number_of_way_.try_emplace(number(from) << 32 | number(to), static_cast<int>(ways_.size()));
  if (is_new) {
    cluster.find_message_route(from, to, route_);
    ways_.push_back({from, to, flows_.add_route(route_.links), route_.latency_s});
  }
  return known->second;
}

void MessageFlows::send(double now_s, int way, double bytes, int token, double most_bytes_per_s) {
  const Way& taken = ways_[to_index(way)];
  departures_.push_after(now_s, taken.latency_s, {taken.route, token, bytes, most_bytes_per_s});
}

double MessageFlows::next_s() {
  return std::min(flows_.next_end_s(), departures_.first_s());
}

void MessageFlows::advance(double now_s, std::vector<int>& arrived) {
  for (int flow : flows_.advance(now_s)) arrived.push_back(token_of_flow_[to_index(flow)]);
  const double until_s = now_s + FairFlows::same_time_s(now_s);
  while (departures_.first_s() <= until_s) {
    const Departure departure = departures_.pop();
    if (departure.bytes <= 0) {
      arrived.push_back(departure.token);
      continue;
    }
    const int flow = flows_.start(departure.route, departure.bytes, departure.most_bytes_per_s);
    if (flow >= static_cast<int>(token_of_flow_.size())) token_of_flow_.resize(to_index(flow) + 1);
    token_of_flow_[to_index(flow)] = departure.token;
  }
}

std::string MessageFlows::dump(double now_s) {
  struct Load {
    double bytes_per_s = 0;
    std::string messages;
  };
  const auto name_of_end = [this](Endpoint end) {
    const int gpus = cluster_.layout().gpus();
    return end.part < gpus ? "GPU " + std::to_string(end.node * gpus + end.part) : "node " + std::to_string(end.node);
  };
  // Each way adds one route, so a route has its way's number.
  const auto way_of = [this](const FairFlows::FlowState& flow) { return &ways_[to_index(flow.route)]; };
  const auto place_of = [&](const FairFlows::FlowState& flow) {
    const Way* way = way_of(flow);
    return std::make_tuple(way->from.node, way->from.part, way->to.node, way->to.part);
  };
  std::vector<FairFlows::FlowState> flows = flows_.states(now_s);
  std::stable_sort(flows.begin(), flows.end(), [&](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  std::map<int, Load> loads;  // by link
  for (const FairFlows::FlowState& flow : flows) {
    const Way* way = way_of(flow);
    cluster_.find_message_route(way->from, way->to, route_);
    for (int link : route_.links) {
      loads[link].bytes_per_s += flow.rate_bytes_per_s;
      loads[link].messages += "  " + name_of_end(way->from) + " to " + name_of_end(way->to) + ": " +
                              format_bandwidth(flow.rate_bytes_per_s) + ", " + format_bytes(flow.left_bytes) +
                              " left\n";
    }
  }
  std::string text = format_printf("Links that carry messages at %.9g s: %zu\n", now_s, loads.size());
  for (const auto& [link, load] : loads)
    text += cluster_.link_name(link) + ": " + format_bandwidth(load.bytes_per_s) + " of " +
            format_bandwidth(cluster_.link_bandwidth(link)) + "\n" + load.messages;
  return text;
}

}  // namespace lockstep::sim::replay
