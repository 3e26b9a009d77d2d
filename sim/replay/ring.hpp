#pragma once
// Rounds of a ring by the max-plus recurrence (replay.hpp): with x[i] the time at which member i enters a round and d[i]
// what its message to member i + 1 takes,
//
//   x'[i] = max(max(x[i], x[i+1]) + d[i], max(x[i-1], x[i]) + d[i-1])
//
// Every member's delay x'[i] - x[i] is at least its slowest message, and what enters later by the same time leaves later
// by it. So where a member and both its neighbours have been delayed in a round by the longest message of all, the
// member is in the next round, too: such members are steady, and only the others are worked out. Members that arrive at
// random times stand in plateaus behind the latest of their neighbourhood, and only where two plateaus meet is anything
// not steady: after k rounds some n/k members, so that all rounds of a ring of n cost n log n.
#include <cstdint>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

struct Ring {
  std::vector<int> members;        ///< ranks: the i-th sends to the next one, the last to the first
  std::vector<double> duration_s;  ///< of the message that the i-th sends
};

/// A phase in which every rank that takes part sends to one other and receives from one is rings: each in its order.
/// Transfers by the sender; empty: it is something else.
std::vector<std::vector<int>> rings_of(const std::vector<int>& src, const std::vector<int>& dst, int ranks);

/// times_s, by rank: in, when each enters the first round; out, when it leaves the last. Returns how many messages were
/// worked out one by one.
std::int64_t run_ring(const Ring& ring, int rounds, std::vector<double>& times_s);

}  // namespace lockstep::sim::replay
