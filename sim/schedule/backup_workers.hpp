#pragma once
// Synchronous SGD with backup workers (Chen et al. 2016, section 3, Algs. 3 and 4).
//
// N + b workers compute gradients on parameters that M servers hold, a shard each. In step t a server takes the first N
// gradients that were computed on theta(t), updates its shard, and drops those that come later. A worker then reads
// theta(t + 1), waiting until all servers have it, and starts anew; one that was late reads the newest parameters.
//
// Messages: a gradient asks at the same time for the next parameters, so that a step costs a worker one message to each
// server and one from it. A worker that is answered different versions asks the servers that are behind again.
#include <functional>
#include <vector>

#include "sim/schedule/actor.hpp"
#include "sim/schedule/shards.hpp"

namespace lockstep::sim::schedule {

/// Returns the factor by which the work of `worker` in its step number `step` takes longer than its shards' work.
using StepFactor = std::function<double(int worker, int step)>;

struct BackupWorkers {
  std::vector<Place> workers;  ///< N + b
  std::vector<Place> servers;  ///< M
  std::vector<Shard> shards;   ///< bottom first; one per server, in their order
  int aggregate = 1;           ///< N
  int steps = 1;               ///< updates until all stop
  /// If the N-th gradient has not arrived within this time after the parameters were published, a server uses those
  /// that have (at least one). 0: no time-out.
  double timeout_s = 0;
  /// True: late workers abandon their work as soon as all servers have new parameters, which then go to all workers
  /// unasked. False: they finish, as in the paper.
  bool is_interrupted = false;
  bool overlap = true;                ///< sends gradients of upper shards while lower ones are computed
  double apply_rate_bytes_per_s = 0;  ///< rate at which a server sums gradients; 0: takes no time
  StepFactor factor = [](int, int) { return 1.0; };
};

/// Returns the workers, then the servers. They log, with t the version of the parameters:
///   `worker "read" t`               It has all of theta(t) and begins to compute.
///   `worker "computed" ns`          The time that it spent on the step, nanoseconds.
///   `worker "abandoned" t`          It was interrupted.
///   `worker "sent" t`               A shard's gradient has arrived at its server.
///   `server "used" t, "dropped" t`  The server used or dropped that gradient.
///   `server "update" n`             The server publishes the next version, from n gradients.
std::vector<Actor> backup_workers(const BackupWorkers& options);

}  // namespace lockstep::sim::schedule
