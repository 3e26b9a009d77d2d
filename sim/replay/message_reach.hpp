#pragma once
// Estimates, before anything is built, whether this machine can replay by messages. SimGrid gives every actor a stack
// between two guard pages, which are two mappings of memory. Linux allows a process vm.max_map_count of them, and
// SimGrid aborts if it gets none.
#include <cstdint>

#include "sim/cluster/cluster.hpp"
#include "sim/schedule/program.hpp"

namespace lockstep::sim::replay {

/// The resources that a replay by messages needs.
struct MessageNeeds {
  std::int64_t actors = 0;
  std::int64_t mappings = 0;
  double memory_bytes = 0;  ///< a cautious estimate (message_reach.cpp)
};
MessageNeeds message_needs(const Program& program, const Cluster& cluster);
MessageNeeds message_needs(std::int64_t actors, const Cluster& cluster);

/// The resources that this process can still get.
struct MessageReach {
  std::int64_t mappings = 0;
  double memory_bytes = 0;
};
MessageReach message_reach();

/// Throws std::runtime_error, one line, that says what lacks, how many GPUs are within reach, and which fidelity can.
void require_reach(const MessageNeeds& needs, const MessageReach& reach, const Cluster& cluster);

}  // namespace lockstep::sim::replay
