#pragma once
// Computes the rounds of a ring by the max-plus recurrence (replay.hpp). Member i enters a round at x[i], and its
// message to member i + 1 takes d[i]:
//
//   `x'[i] = max(max(x[i], x[i+1]) + d[i], max(x[i-1], x[i]) + d[i-1])`
//
// A member's delay x'[i] - x[i] is at least its slowest message. Let D be the longest message of all. Call a member
// steady if a round delays it and both its neighbours by D. In the next round all three enter later by D, so the member
// leaves later by D, too, and needs no computation. From random entry times, plateaus of steady members form behind the
// latest members. Only members at the borders of plateaus are not steady, about n/k of them after k rounds. So all
// rounds of a ring of n members cost n log n.
#include <cstdint>
#include <vector>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

struct Ring {
  std::vector<int> members;        ///< ranks: the i-th sends to the next one, the last to the first
  std::vector<double> duration_s;  ///< of the message that the i-th sends
};

/// Finds the rings of a phase in which each participating rank sends to one rank and receives from one. Each ring lists
/// its transfers by sender, in order. Empty: the phase does not consist of rings.
std::vector<std::vector<int>> rings_of(const std::vector<int>& src, const std::vector<int>& dst, int ranks);

/// Runs the rounds. `times_s`, by rank: on entry, when each enters the first round; on return, when it leaves the last.
/// Returns the number of messages that were computed one by one.
std::int64_t run_ring(const Ring& ring, int rounds, std::vector<double>& times_s);

}  // namespace lockstep::sim::replay
