#pragma once
// Checks whether messages of a round exceed a link. If none do, max-plus recurrences may be exact (replay.hpp).
#include "sim/cluster/cluster.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// True if in every round of every plan the messages over each link fit on it, each at the bandwidth of its route. Does
/// not check library operations with a time of their own (Plan::call). Costs no more than the closed form.
bool rounds_fit(const Program& program, const Cluster& cluster);
bool rounds_fit(const Plan& plan, const Cluster& cluster);

}  // namespace lockstep::sim::replay
