#pragma once
// Compares clusters, so that points of a plan can share what is found for one of them.
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::scenario {

/// True if all facts are equal, except for names and descriptions.
bool is_same_cluster(const ClusterSpec& a, const ClusterSpec& b);

}  // namespace lockstep::sim::scenario
