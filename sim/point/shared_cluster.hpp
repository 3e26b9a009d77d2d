#pragma once
// Predicts jobs that run at the same time on the nodes of one cluster, and share its fabric with each other and with
// background traffic. Their messages divide links max-min fairly (sim/replay/fair_flows.hpp).
//
// When jobs started, nobody knows before. So the replay is repeated with starts drawn evenly over an iteration of each
// job, and with one hash function of ECMP each time. Each replay measures the iterations of all jobs until the first job
// has ended.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::point {

/// A job and its times. They are medians over the replays, in seconds per iteration.
struct SharedJob {
  std::string name;
  int gpus = 0;
  std::vector<int> nodes;
  double samples_per_iteration = 0;
  double alone_s = 0;                              ///< without other jobs and background traffic
  double together_s = 0;                           ///< with them
  double together_low_s = 0, together_high_s = 0;  ///< least and most of the replays
  double samples_per_s() const { return samples_per_iteration / together_s; }
  double slowdown() const { return together_s / alone_s; }
};

struct [[nodiscard]] SharedCluster {
  std::vector<SharedJob> jobs;
  int replays = 0;
  int background_flows = 0;
  double messages = 0;  ///< of one replay
};

struct JobOnGpus {
  const Scenario* scenario;
  int gpus;
};

/// Predicts jobs on nodes of their own; a scenario without nodes_used takes the first ones. Background traffic is that
/// of the first one. Fidelity `message` replays once on SimGrid. Throws InputError for algorithms whose workers do not
/// wait for each other, and if the jobs send too many messages to replay each of them.
SharedCluster predict_shared_cluster(const std::vector<JobOnGpus>& jobs);

}  // namespace lockstep::sim::point
