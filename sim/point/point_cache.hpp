#pragma once
// Keeps a cluster, the costs of collectives on it and parts of programs for the next point, which often has the same.
#include <memory>
#include <tuple>

#include "sim/cluster/cluster.hpp"
#include "sim/program/program_cache.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::point {

class PointCache {
 public:
  /// Returns the cluster whose messages have this overhead. It is valid until the next call.
  const Cluster& cluster(const ClusterSpec& spec, int gpus, const InputHosts& input, double message_overhead_s);
  /// Returns the costs known for the latest cluster.
  KnownCosts& costs() { return costs_; }
  /// Returns parts of the latest programs.
  ProgramCache& programs() { return programs_; }
  /// Returns expected_slowest(), which takes longer than other parts of many points.
  double find_expected_slowest(const Scenario& scenario, int gpus);

 private:
  struct Facts {
    ClusterSpec spec;
    int gpus;
    InputHosts input;
    double message_overhead_s;
  };
  std::unique_ptr<const Facts> facts_;
  std::unique_ptr<Cluster> cluster_;
  KnownCosts costs_;
  ProgramCache programs_;
  std::tuple<JitterKind, double, int> jitter_;  // for which slowest_ was computed
  double slowest_ = 0;                          // 0: not computed
};

}  // namespace lockstep::sim::point
