#pragma once
// How many of a split's replicas stand for all of them.
#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::replica {

/// The smallest number of replicas whose messages cross links as those of all replicas do. Ranks of neighbouring replicas
/// stand in neighbouring units of a cluster, and units may change places (Cluster::gpus_of_unit()). Replicas that fill
/// whole units, two at least, repeat therefore until the last: each unit sends the same from and to the same of its GPUs,
/// inside or outside. Of a sharding group all ranks are kept, and two copies. Where that number does not exist, it is
/// `spec.data`, the number of all.
int representative_replicas(const ParallelSpec& spec, int gpus_of_unit);

}  // namespace lockstep::sim::replica
