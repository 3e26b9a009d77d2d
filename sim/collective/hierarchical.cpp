#include <algorithm>

#include "sim/collective/collectives.hpp"

namespace lockstep::sim {
inline namespace collective {
namespace {

struct Group {
  int first;
  int size;
};

std::vector<Group> groups_of(int ranks, int group_size) {
  std::vector<Group> groups;
  for (int first = 0; first < ranks; first += group_size)
    groups.push_back({first, std::min(group_size, ranks - first)});
  return groups;
}

// Chains of all groups side by side. In the reduce, slice s leaves member m (counted from the master, m >= 1) in round
// (size - 1 - m) + s towards member m - 1; in the broadcast it leaves member m in round m + s towards member m + 1.
void append_chains(Plan& plan, const std::vector<Group>& groups, int group_size, int slices, bool towards_master) {
  const int rounds = (group_size - 1) + (slices - 1);
  const std::int64_t slice = chunk_bytes(plan.bytes, slices);
  for (int round = 0; round < rounds; ++round) {
    Phase phase;
    for (const Group& group : groups)
      for (int hop = 0; hop + 1 < group.size; ++hop) {
        const int s = round - hop;
        if (s < 0 || s >= slices) continue;
        const int near = group.first + (towards_master ? group.size - 2 - hop : hop);
        if (towards_master)
          phase.transfers.push_back({near + 1, near, slice, true});
        else
          phase.transfers.push_back({near, near + 1, slice});
      }
    if (!phase.transfers.empty()) plan.phases.push_back(std::move(phase));
  }
}

}  // namespace

Plan hierarchical_all_reduce(int ranks, int group_size, std::int64_t bytes, int slices) {
  if (ranks <= group_size || group_size == 1) {
    Plan plan = ring_all_reduce(ranks, bytes);
    plan.algorithm = "hierarchical";
    return plan;
  }
  Plan plan{"hierarchical", ranks, bytes, {}};
  const std::vector<Group> groups = groups_of(ranks, group_size);
  std::vector<int> masters;
  for (const Group& group : groups) masters.push_back(group.first);

  const int m = slices > 0 ? slices : group_size;
  append_chains(plan, groups, group_size, m, true);
  append_ring_all_reduce(plan, masters, chunk_bytes(bytes, static_cast<std::int64_t>(masters.size())));
  append_chains(plan, groups, group_size, m, false);
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
