#pragma once
// Chooses the number of data-parallel replicas that represent all replicas of a split.
#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::replica {

/// The smallest number of data-parallel replicas that load each link as all `spec.data` replicas do. Neighbouring replicas
/// occupy neighbouring units of the cluster, and units are interchangeable (Cluster::gpus_of_unit()), so that replicas in
/// two whole units show all that happens. The number divides `spec.data`, and contains whole sharding groups and two copies
/// of each shard at least. If no smaller number does, it is `spec.data`.
int representative_replicas(const ParallelSpec& spec, int gpus_of_unit);

}  // namespace lockstep::sim::replica
