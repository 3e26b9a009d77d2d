#pragma once
// Messages as fair flows (fair_flows.hpp) on a cluster: a message pays its route's latency, overhead included, and then
// flows. It keeps no clock: who uses it moves from one of its moments to the next.
#include <cstdint>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/fair_flows.hpp"

namespace lockstep::sim::replay {

class MessageFlows {
 public:
  explicit MessageFlows(const Cluster& cluster);
  /// The number of the way between two different ends; the same for the same. Ways are best asked for before messages
  /// are under way: a new one may cost time for each of these.
  int way(Endpoint from, Endpoint to);
  /// A message that leaves at `now_s`, no earlier than advance() was last told. `token` comes back when it has arrived.
  void send(double now_s, int way, double bytes, int token,
            double most_bytes_per_s = std::numeric_limits<double>::infinity());
  /// When something happens next; infinity: nothing is under way.
  double next_s();
  /// Everything up to `now_s`, not after next_s() by more than rounding. Appends the tokens of what has arrived.
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
    double at_s;
    std::uint64_t number;  // of the message
    int route;
    int token;
    double bytes;
    double most_bytes_per_s;
    bool operator>(const Departure& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };

  const Cluster& cluster_;
  FairFlows flows_;
  std::unordered_map<std::uint64_t, int> number_of_way_;  // by both ends
  std::vector<Way> ways_;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<Departure>> departures_;
  std::vector<int> token_of_flow_;
  std::uint64_t messages_ = 0;
  Route route_;  // its memory is used again
};

}  // namespace lockstep::sim::replay
