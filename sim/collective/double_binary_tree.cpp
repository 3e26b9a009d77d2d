#include <algorithm>

#include "sim/collective/collectives.hpp"

namespace lockstep::sim::collective {
namespace {

// Edges from children at one depth to their parents, `stride` labels apart. The root's depth is 0.
struct Edges {
  int child;
  int parent;
  int depth;
  int count;
  int stride;
};

// Appends the edges below the root of a full in-order subtree over `span` labels from `low` on; `span` + 1 is a power
// of two. At each depth, every parent has a child on either side, at the same distance.
void add_full_subtree(int low, int span, int depth, std::vector<Edges>& edges) {
  for (int half = (span + 1) / 2, parents = 1; half > 1; half /= 2, parents *= 2) {
    const int root = low + half - 1, below = half / 2;
    ++depth;
    edges.push_back({root - below, root, depth, parents, 2 * half});
    edges.push_back({root + below, root, depth, parents, 2 * half});
  }
}

int levels_of(int span) {
  int levels = 0;
  for (; span > 0; span /= 2) ++levels;
  return levels;
}

// Appends the edges of labels low..high, whose root's parent is `parent`; returns the depth of the deepest node.
int add_subtree(int low, int high, int parent, int depth, std::vector<Edges>& edges) {
  if (low > high) return depth - 1;
  int span = 1;
  while (span * 2 <= high - low + 1) span *= 2;  // the largest power of two within the interval: its root's label
  const int root = low + span - 1;
  edges.push_back({root, parent, depth, 1, 0});
  int deepest = depth;
  if (span > 1) {
    edges.push_back({low + span / 2 - 1, root, depth + 1, 1, 0});
    add_full_subtree(low, span - 1, depth + 1, edges);
    deepest = depth + levels_of(span - 1);
  }
  return std::max(deepest, add_subtree(root + 1, high, root, depth + 1, edges));
}

// Returns the tree in which rank ranks - 1 - r takes the place of rank r.
std::vector<Edges> mirrored(const std::vector<Edges>& edges, int ranks) {
  std::vector<Edges> result;
  for (const Edges& some : edges) {
    const int last = ranks - 1 - (some.count - 1) * some.stride;
    result.push_back({last - some.child, last - some.parent, some.depth, some.count, some.stride});
  }
  return result;
}

// Returns the tree with each rank r replaced by rank r + 1, and the last rank by rank 0.
std::vector<Edges> shifted(const std::vector<Edges>& edges, int ranks) {
  std::vector<Edges> result;
  for (Edges some : edges) {
    const int last_child = some.child + (some.count - 1) * some.stride;
    const int last_parent = some.parent + (some.count - 1) * some.stride;
    const bool wraps = std::max(last_child, last_parent) + 1 == ranks;
    if (wraps) result.push_back({(last_child + 1) % ranks, (last_parent + 1) % ranks, some.depth, 1, 0});
    some.count -= wraps ? 1 : 0;
    ++some.child;
    ++some.parent;
    if (some.count > 0) result.push_back(some);
  }
  return result;
}

// Slices climb, then descend, one level a round. A slice begins to descend as soon as the root has it. In round t the
// node at depth d sends slice t - (deepest - d) upwards and receives slice t - (deepest + d - 1) from above. Edges of
// the same depth are one block, because their slices are identical.
void append_tree(std::vector<Phase>& phases, const std::vector<Edges>& edges, int deepest, int slices,
                 std::int64_t slice) {
  const int total = 2 * deepest - 1 + slices;
  if (static_cast<int>(phases.size()) < total) phases.resize(static_cast<std::size_t>(total));
  std::vector<Transfers::Block> climbs(static_cast<std::size_t>(deepest) + 1), descents(climbs.size());
  for (const Edges& e : edges) {
    climbs[static_cast<std::size_t>(e.depth)].append(Run{e.child, e.parent, slice, true, e.count, e.stride, e.stride});
    descents[static_cast<std::size_t>(e.depth)].append(
        Run{e.parent, e.child, slice, false, e.count, e.stride, e.stride});
  }
  for (int depth = 1; depth <= deepest; ++depth) {
    const auto climb = std::make_shared<const Transfers::Block>(std::move(climbs[static_cast<std::size_t>(depth)]));
    const auto descent = std::make_shared<const Transfers::Block>(std::move(descents[static_cast<std::size_t>(depth)]));
    for (int s = 0; s < slices; ++s) {
      phases[static_cast<std::size_t>(deepest - depth + s)].transfers.append(climb);
      phases[static_cast<std::size_t>(deepest + depth - 1 + s)].transfers.append(descent);
    }
  }
}

}  // namespace

Plan double_binary_tree_all_reduce(int ranks, int slices, std::int64_t bytes) {
  Plan plan{"double-binary-tree", ranks, bytes, {}};
  if (ranks < 2) return plan;
  // As NCCL's ncclGetDtree(): rank 0 has one child, the root of an in-order tree over the others, whose inner ranks are
  // even. Mirrored (even number of ranks) or shifted by one (odd), they become leaves in the second tree.
  std::vector<Edges> first;
  const int deepest = add_subtree(1, ranks - 1, 0, 1, first);
  const std::vector<Edges> second = ranks % 2 == 0 ? mirrored(first, ranks) : shifted(first, ranks);
  const std::int64_t slice = chunk_bytes(chunk_bytes(bytes, 2), slices);
  append_tree(plan.phases.edit(), first, deepest, slices, slice);
  append_tree(plan.phases.edit(), second, deepest, slices, slice);
  return plan;
}

}  // namespace lockstep::sim::collective
