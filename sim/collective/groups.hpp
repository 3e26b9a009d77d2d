#pragma once
// Collectives of groups of ranks: group g has the ranks g n .. g n + n - 1.
#include "sim/collective/plan.hpp"

namespace lockstep::sim::collective {

/// Repeats a plan of n ranks in each of `groups` groups, at the same time.
Plan in_every_group(const Plan& of_group, int groups);

/// Averages a vector that the n = `group` ranks of each group have in common, over the groups. Rank i of a group
/// averages part i of the vector with ranks i of the other groups, in a ring: 2 (g-1)/g of the part for g groups. The
/// ranks of a group then have to gather the parts.
Plan average_between_groups(int ranks, int group, std::int64_t bytes);

}  // namespace lockstep::sim::collective
