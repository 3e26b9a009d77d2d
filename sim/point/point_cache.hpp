#pragma once
// Keeps a cluster and the costs of collectives on it for the next point, which often has the same cluster.
#include <memory>

#include "sim/cluster/cluster.hpp"
#include "sim/replay/replay.hpp"

namespace lockstep::sim::point {

class PointCache {
 public:
  /// Returns the cluster whose messages have this overhead. It is valid until the next call.
  const Cluster& cluster(const ClusterSpec& spec, int gpus, const InputHosts& input, double message_overhead_s);
  /// Returns the costs known for the latest cluster.
  KnownCosts& costs() { return costs_; }

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
};

}  // namespace lockstep::sim::point
