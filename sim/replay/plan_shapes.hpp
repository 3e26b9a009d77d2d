#pragma once
// Prepares plans for a replay by flows: the transfers of their ranks, and the ways of these. Plans that differ only in
// bytes, such as those of the exchanges of equal parameter servers, share both.
#include <deque>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/message_flows.hpp"
#include "sim/replay/rank_spans.hpp"

namespace lockstep::sim::replay {

struct PlanShape {
  RankSpans spans;
  std::vector<int> ways;  ///< in MessageFlows, by transfer
};

class PlanShapes {
 public:
  PlanShapes(const Cluster& cluster, MessageFlows& flows) : cluster_(cluster), flows_(flows) {}
  /// Returns the shape of a plan, which must outlive this object. The result stays valid with it.
  const PlanShape& find_shape(const Plan& plan);

 private:
  const Cluster& cluster_;
  MessageFlows& flows_;
  std::deque<PlanShape> shapes_;
};

}  // namespace lockstep::sim::replay
