#include <algorithm>

#include "sim/collective/collectives.hpp"

namespace lockstep::sim::collective {
namespace {

// Adds the chains of all groups in parallel. Member m is counted from the master, m >= 1. In the reduce, slice s leaves
// member m in round (size - 1 - m) + s towards member m - 1. In the broadcast it leaves member m in round m + s towards
// member m + 1. All slices of a hop are identical and form one block.
void append_chains(Plan& plan, int group_size, int slices, bool towards_master) {
  const std::int64_t slice = chunk_bytes(plan.bytes, slices);
  const int full_groups = plan.ranks / group_size, rest = plan.ranks % group_size;
  std::vector<std::shared_ptr<const Transfers::Block>> hops;
  for (int hop = 0; hop + 1 < group_size; ++hop) {
    Transfers::Block block;
    const auto add = [&](int first, int size, int count) {
      const int near = first + (towards_master ? size - 2 - hop : hop);
      if (towards_master)
        block.append(Run{near + 1, near, slice, true, count, group_size, group_size});
      else
        block.append(Run{near, near + 1, slice, false, count, group_size, group_size});
    };
    add(0, group_size, full_groups);
    if (hop + 1 < rest) add(full_groups * group_size, rest, 1);
    hops.push_back(std::make_shared<const Transfers::Block>(std::move(block)));
  }
  const int rounds = (group_size - 1) + (slices - 1);
  for (int round = 0; round < rounds; ++round) {
    Phase phase;
    for (int hop = std::max(0, round - slices + 1); hop <= std::min(round, group_size - 2); ++hop)
      phase.transfers.append(hops[static_cast<std::size_t>(hop)]);
    if (!phase.transfers.blocks().empty()) plan.phases.edit().push_back(std::move(phase));
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
  const int groups = (ranks + group_size - 1) / group_size;
  const int m = slices > 0 ? slices : group_size;
  append_chains(plan, group_size, m, true);
  append_ring_all_reduce(plan, group_size, groups, chunk_bytes(bytes, groups));
  append_chains(plan, group_size, m, false);
  return plan;
}

}  // namespace lockstep::sim::collective
