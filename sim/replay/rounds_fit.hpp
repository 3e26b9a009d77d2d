#pragma once
// Whether messages of a round ever exceed a link: where none do, max-plus recurrences may be exact (replay.hpp).
#include "sim/cluster/cluster.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// Whether in every round of every plan the messages over each link, all at the bandwidths of their routes, fit on it. Of a
/// library's call with a time of its own (Plan::call) nothing is asked. Costs no more than the closed form.
bool rounds_fit(const Program& program, const Cluster& cluster);
bool rounds_fit(const Plan& plan, const Cluster& cluster);

}  // namespace lockstep::sim::replay
