#include "sim/replay/message_flows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/index.hpp"

namespace lockstep::sim {
namespace {

namespace sg4 = simgrid::s4u;

std::vector<double> bandwidths_of(const Cluster& cluster) {
  std::vector<double> bandwidths;
  for (int link = 0; link < cluster.link_count(); ++link) bandwidths.push_back(cluster.link_bandwidth(link));
  return bandwidths;
}

}  // namespace

MessageFlows::MessageFlows(const Cluster& cluster, std::vector<sg4::Host*> hosts)
    : cluster_(cluster),
      hosts_(std::move(hosts)),
      flows_(bandwidths_of(cluster)),
      ways_(hosts_.size() * hosts_.size()),
      wake_(sg4::Semaphore::create(0)) {}

void MessageFlows::run() {
  sg4::Actor::self()->daemonize();
  for (;;) {
    const double departure_s = departures_.empty() ? std::numeric_limits<double>::infinity() : departures_.top().at_s;
    sleep_until(std::min(departure_s, flows_.next_end_s()));
    deliver_and_depart();
  }
}

void MessageFlows::send(int from, int to, double bytes, Arrival arrival, double most_bytes_per_s) {
  const Way& way = this->way(from, to);
  const double departs_s = sg4::Engine::get_clock() + way.latency_s;
  departures_.push({departs_s, messages_++, way.route, bytes, most_bytes_per_s, keep(std::move(arrival))});
  if (!sleeps_ || departs_s >= wakes_at_s_) return;
  sleeps_ = false;
  wake_->release();
}

const MessageFlows::Way& MessageFlows::way(int from, int to) {
  Way& way = ways_[at(from) * hosts_.size() + at(to)];
  if (way.route < 0) {
    const Route route = cluster_.message_route(hosts_[at(from)], hosts_[at(to)]);
    way = {flows_.add_route(route.links), route.latency_s};
  }
  return way;
}

int MessageFlows::keep(Arrival arrival) {
  if (unused_.empty()) {
    arrivals_.push_back(std::move(arrival));
    return static_cast<int>(arrivals_.size()) - 1;
  }
  const int slot = unused_.back();
  unused_.pop_back();
  arrivals_[at(slot)] = std::move(arrival);
  return slot;
}

void MessageFlows::arrive(int slot) {
  const Arrival arrival = std::move(arrivals_[at(slot)]);
  unused_.push_back(slot);
  arrival();
}

void MessageFlows::sleep_until(double time_s) {
  const double now_s = sg4::Engine::get_clock();
  if (time_s <= now_s) return;
  sleeps_ = true;
  wakes_at_s_ = time_s;
  if (std::isinf(time_s)) return wake_->acquire();
  const bool timed_out = wake_->acquire_timeout(time_s - now_s);
  // A message of this very moment may have released the semaphore all the same: its token must not stay.
  if (timed_out && !sleeps_) wake_->acquire();
  sleeps_ = false;
}

void MessageFlows::deliver_and_depart() {
  const double now_s = sg4::Engine::get_clock();
  for (int flow : flows_.advance(now_s)) arrive(of_flow_[at(flow)]);
  while (!departures_.empty() && departures_.top().at_s <= now_s + FairFlows::same_time_s(now_s)) {
    const Departure departure = departures_.top();
    departures_.pop();
    if (departure.bytes <= 0) {
      arrive(departure.slot);
      continue;
    }
    const int flow = flows_.start(departure.route, departure.bytes, departure.most_bytes_per_s);
    if (flow >= static_cast<int>(of_flow_.size())) of_flow_.resize(at(flow) + 1);
    of_flow_[at(flow)] = departure.slot;
  }
}

}  // namespace lockstep::sim
