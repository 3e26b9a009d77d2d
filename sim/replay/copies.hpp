#pragma once
// Copies of input that cross the cluster's links, shared with all messages (Work::Source).
#include <cstdint>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// Returns the two ends of one GPU's copies.
Cluster::Ends ends_of_copy(const Cluster& cluster, Work::Source source, int gpu);
/// Returns the routes of the copies to all GPUs that get input; the latency contains the message overhead.
std::vector<Route> routes_of_copies(const Program& program, Work::Source source, const Cluster& cluster);
/// Returns the bytes of each copy from `source`, which are the same for all batches of a program.
std::int64_t bytes_of_copy(const Program& program, Work::Source source);

}  // namespace lockstep::sim::replay
