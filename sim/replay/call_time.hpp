#pragma once
// Computes plans whose time comes from a library's cost model (Plan::call), on a cluster.
#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/unit_classes.hpp"

namespace lockstep::sim::replay {

struct CallOnCluster {
  double seconds;  ///< from the last rank's arrival until all have finished
  bool fits;  ///< `seconds` is what SimGrid computes: the transfers together exceed no link, or were taken one by one
};

/// Every transfer takes `transfer_s`, or bytes over its route's bandwidth if that is longer. `units`: of plans that
/// include this one.
CallOnCluster call_on_cluster(const Plan& plan, const Cluster& cluster, const UnitClasses& units);

/// Returns the seconds that ranks wait before their messages leave. Together with the messages' own latencies they
/// equal `latency_s`.
double call_wait_s(const Plan& plan, const Cluster& cluster);

/// Computes the closed form: latency, then the time that the busiest link needs for all transfers that cross it.
PlanCosts::Flow call_closed_form(const Plan& plan, const UnitClasses& units);

}  // namespace lockstep::sim::replay
