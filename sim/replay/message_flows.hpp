#pragma once
// Carries messages of a replay as fair flows (fair_flows.hpp) while SimGrid keeps the clock: one actor of SimGrid for
// the whole network, which sleeps until the next message begins to flow or ends. A message pays its route's latency,
// overhead included, and then flows.
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/fair_flows.hpp"

namespace lockstep::sim {

class MessageFlows {
 public:
  using Arrival = std::function<void()>;

  /// `hosts`: where the actors live, by actor.
  MessageFlows(const Cluster& cluster, std::vector<simgrid::s4u::Host*> hosts);
  /// The body of the network's actor; it is made a daemon.
  void run();
  /// Between actors on two different hosts. `arrival` is called in the network's actor.
  void send(int from, int to, double bytes, Arrival arrival,
            double most_bytes_per_s = std::numeric_limits<double>::infinity());

 private:
  struct Way {
    int route = -1;  // not yet looked up
    double latency_s = 0;
  };
  struct Departure {
    double at_s;
    std::uint64_t number;  // of the message
    int route;
    double bytes;
    double most_bytes_per_s;
    int slot;  // in arrivals_
    bool operator>(const Departure& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };

  const Way& way(int from, int to);
  int keep(Arrival arrival);
  void arrive(int slot);
  void sleep_until(double time_s);
  void deliver_and_depart();

  const Cluster& cluster_;
  const std::vector<simgrid::s4u::Host*> hosts_;
  FairFlows flows_;
  std::vector<Way> ways_;  // by pair of actors
  std::priority_queue<Departure, std::vector<Departure>, std::greater<Departure>> departures_;
  std::vector<Arrival> arrivals_;
  std::vector<int> unused_;   // slots in arrivals_
  std::vector<int> of_flow_;  // slots
  std::uint64_t messages_ = 0;
  simgrid::s4u::SemaphorePtr wake_;
  bool sleeps_ = false;
  double wakes_at_s_ = 0;
};

}  // namespace lockstep::sim
