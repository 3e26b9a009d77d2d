#pragma once
// Messages as fair flows (fair_flows.hpp) on a cluster. A message waits for its route's latency, overhead included, and
// then flows. This class has no clock: the caller advances it from event to event.
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/delay_queue.hpp"
#include "sim/replay/fair_flows.hpp"

namespace lockstep::sim::replay {

class MessageFlows {
 public:
  /// Several jobs may share the links. Their clusters then differ in nodes_used and overhead of messages only.
  explicit MessageFlows(const Cluster& cluster);
  /// Returns the number of the way between two different ends; the same ends give the same number. `cluster` is that of
  /// the job that uses them first. Call it before messages are in flight if possible, because a new way may cost time
  /// for each of them.
  int way(const Cluster& cluster, Endpoint from, Endpoint to);
  /// Sends a message at `now_s`, which must not precede the last advance(). advance() returns `token` when it has
  /// arrived.
  void send(double now_s, int way, double bytes, int token,
            double most_bytes_per_s = std::numeric_limits<double>::infinity());
  /// Time of the next event; infinity: nothing is in flight.
  double next_s();
  /// Processes all events up to `now_s`, which must not exceed next_s() except by rounding. Appends the tokens of
  /// messages that have arrived.
  void advance(double now_s, std::vector<int>& arrived);
  /// For debugging: every link that carries messages at `now_s`, with its bandwidth, its load and these messages.
  std::string dump(double now_s);

 private:
  struct Way {
    Endpoint from, to;
    int route;
    double latency_s;
  };
  struct Departure {
    int route;
    int token;
    double bytes;
    double most_bytes_per_s;
  };

  const Cluster& cluster_;
  FairFlows flows_;
  std::unordered_map<std::uint64_t, int> number_of_way_;  // by both ends
  std::vector<Way> ways_;
  DelayQueue<Departure> departures_;
  std::vector<int> token_of_flow_;
  Route route_;  // kept to reuse its memory
};

}  // namespace lockstep::sim::replay
