#pragma once
// Plans whose time a library's cost model gives (Plan::call), on a cluster.
#include "sim/cluster/cluster.hpp"
#include "sim/collective/plan.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/unit_classes.hpp"

namespace lockstep::sim::replay {

struct CallOnCluster {
  double seconds;  ///< from the last rank's arrival to the end of all
  bool fits;  ///< `seconds` is what SimGrid computes: the transfers together exceed no link, or were taken one by one
};

/// Every transfer takes `transfer_s`, or bytes over its route's bandwidth where that is longer.
CallOnCluster call_on_cluster(const Plan& plan, const Cluster& cluster);

/// Returns the seconds that ranks wait before their messages leave. With the messages' own latencies they add up to
/// `latency_s`.
double call_wait_s(const Plan& plan, const Cluster& cluster);

/// The closed form: latency, then the transfers, as long as the busiest link needs for all that crosses it.
PlanCosts::Flow call_closed_form(const Plan& plan, const UnitClasses& units);

}  // namespace lockstep::sim::replay
