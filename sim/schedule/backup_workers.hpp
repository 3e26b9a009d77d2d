#pragma once
// Synchronous SGD with backup workers (Chen et al. 2016, section 3, Algs. 3 and 4).
//
// N + b workers compute gradients from parameters on M servers, each of which holds a shard. In step t a server takes
// the first N gradients of theta(t), updates its shard, and drops later ones. A worker then waits until all servers
// have theta(t + 1), reads it, and starts again. A late worker reads the newest parameters instead.
//
// Messages: A gradient also requests the next parameters. A step thus costs a worker one message to each server and one
// from it. If servers answer with different versions, the worker asks those that are behind again.
#include <functional>
#include <vector>

#include "sim/schedule/actor.hpp"
#include "sim/schedule/shards.hpp"

namespace lockstep::sim::schedule {

/// Returns work time over nominal work time, for step number `step` of `worker`.
using StepFactor = std::function<double(int worker, int step)>;

struct BackupWorkers {
  std::vector<Place> workers;  ///< N + b
  std::vector<Place> servers;  ///< M
  std::vector<Shard> shards;   ///< bottom first; one per server, in their order
  int aggregate = 1;           ///< N
  int steps = 1;               ///< updates until all stop
  /// If the N-th gradient has not arrived within this time after the parameters were published, a server uses those
  /// that have arrived (at least one). 0: no time-out.
  double timeout_s = 0;
  /// True: late workers abandon their work as soon as all servers have new parameters, which all workers then get
  /// without a request. False: they finish, as in the paper.
  bool is_interrupted = false;
  bool overlap = true;                ///< sends gradients of upper shards during the computation of lower ones
  double apply_rate_bytes_per_s = 0;  ///< rate at which a server sums gradients; 0: takes no time
  StepFactor factor = [](int, int) { return 1.0; };
};

/// Returns the workers, then the servers. They log, with t the version of the parameters:
///   `worker "read" t`               It has all of theta(t) and begins to compute.
///   `worker "computed" ns`          Nanoseconds that it spent on the step.
///   `worker "abandoned" t`          It was interrupted.
///   `worker "sent" t`               A shard's gradient has arrived at its server.
///   `server "used" t, "dropped" t`  The server used or dropped that gradient.
///   `server "update" n`             The server publishes the next version, from n gradients.
std::vector<Actor> backup_workers(const BackupWorkers& options);

}  // namespace lockstep::sim::schedule
