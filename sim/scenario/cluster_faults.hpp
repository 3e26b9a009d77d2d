#pragma once
// Reads the faults of a cluster and the nodes that a job uses. Shared by the reader of the cluster only.
#include "engine/base/object_format.hpp"
#include "sim/scenario/cluster_spec.hpp"

namespace lockstep::sim::scenario {
namespace cluster_read {

const ObjectFormat<FaultSpec>& fault_format();
/// Adds the keys "nodes_used" and "faults". Checks them against nodes and NICs, which must have been read.
void add_faults(ObjectFormat<ClusterSpec>& format);

}  // namespace cluster_read
}  // namespace lockstep::sim::scenario
