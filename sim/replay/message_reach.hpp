#pragma once
// Estimates in advance whether this machine can replay by messages. SimGrid gives every actor a stack between two guard
// pages, which needs two memory mappings. Linux limits a process to vm.max_map_count mappings, and SimGrid aborts
// beyond that limit.
#include <cstdint>

#include "sim/cluster/cluster.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// The resources that a replay by messages needs.
struct MessageNeeds {
  std::int64_t actors = 0;
  std::int64_t mappings = 0;
  double memory_bytes = 0;  ///< a conservative estimate (message_reach.cpp)
};
MessageNeeds message_needs(const Program& program, const Cluster& cluster);
MessageNeeds message_needs(std::int64_t actors, const Cluster& cluster);

/// The resources that this process can still allocate.
struct MessageReach {
  std::int64_t mappings = 0;
  double memory_bytes = 0;
};
MessageReach message_reach();

/// Throws std::runtime_error if a resource is insufficient. Its one line names the resource, the possible number of
/// GPUs, and a fidelity that works.
void require_reach(const MessageNeeds& needs, const MessageReach& reach, const Cluster& cluster);

}  // namespace lockstep::sim::replay
