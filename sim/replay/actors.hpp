#pragma once
// Runs actors on a cluster, message by message, and returns their logs. With fidelity `message` SimGrid runs the actors
// and carries their messages. Otherwise fibers run them, and messages are flows of fair_flows.hpp. Flows are as exact,
// and with thousands of messages in flight a hundred times faster.
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/replay.hpp"
#include "sim/schedule/actor.hpp"

namespace lockstep::sim::replay {

struct ActorEvent {
  double time_s;
  int actor;
  std::string what;
  std::int64_t value;
};

struct ActorReplay {
  std::vector<ActorEvent> log;           ///< by time, then actor
  std::vector<double> busy_s;            ///< per actor, time in compute()
  std::vector<std::int64_t> bytes_sent;  ///< per actor
  std::int64_t messages = 0;
  double end_s = 0;
};

/// Messages take the route between the actors' places: first latency (with the cluster's message overhead), then bytes
/// on links shared with all others. Messages between two actors of one place take no time. Runs the process's one
/// simulation. Throws std::runtime_error if all actors wait for each other.
ActorReplay replay_actors(const std::vector<Actor>& actors, const Cluster& cluster,
                          Fidelity fidelity = Fidelity::message);

}  // namespace lockstep::sim::replay
