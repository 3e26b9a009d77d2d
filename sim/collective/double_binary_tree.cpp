#include <algorithm>

#include "sim/collective/collectives.hpp"

namespace lockstep::sim {
inline namespace collective {
namespace {

struct Edge {
  int child;
  int parent;
  int depth;  // of the child; the root's is 0
};

// In-order binary tree over labels low..high: the inner labels are those whose trailing bits the leaves lack.
// Appends the edges below `label_root` and returns the depth of the deepest node.
int add_subtree(int low, int high, int parent, int depth, std::vector<Edge>& edges) {
  if (low > high) return depth - 1;
  int span = 1;
  while (span * 2 <= high - low + 1) span *= 2;  // the largest power of two within the interval: its root's label
  const int root = low + span - 1;
  if (parent >= 0) edges.push_back({root, parent, depth});
  const int left = add_subtree(low, root - 1, root, depth + 1, edges);
  const int right = add_subtree(root + 1, high, root, depth + 1, edges);
  return std::max({left, right, depth});
}

// Slices climb, then descend, one level a round, and the descent of a slice starts as soon as the root has it: in round
// t the node at depth d sends slice t - (deepest - d) upwards and receives slice t - (deepest + d - 1) from above. The
// edges of a depth are a block, for their slices are alike.
void append_tree(std::vector<Phase>& phases, const std::vector<Edge>& edges, int deepest, int slices,
                 std::int64_t slice) {
  const int total = 2 * deepest - 1 + slices;
  if (static_cast<int>(phases.size()) < total) phases.resize(static_cast<std::size_t>(total));
  std::vector<Transfers::Block> climbs(static_cast<std::size_t>(deepest) + 1), descents(climbs.size());
  for (const Edge& edge : edges) {
    climbs[static_cast<std::size_t>(edge.depth)].push_back({edge.child, edge.parent, slice, true});
    descents[static_cast<std::size_t>(edge.depth)].push_back({edge.parent, edge.child, slice});
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
  std::vector<Edge> first;
  const int deepest = add_subtree(0, ranks - 1, -1, 0, first);
  // The second tree: the same shape shifted by one rank, so that an inner (odd) label becomes a leaf (even) one.
  std::vector<Edge> second = first;
  for (Edge& edge : second) {
    edge.child = (edge.child + 1) % ranks;
    edge.parent = (edge.parent + 1) % ranks;
  }
  const std::int64_t slice = chunk_bytes(chunk_bytes(bytes, 2), slices);
  append_tree(plan.phases, first, deepest, slices, slice);
  append_tree(plan.phases, second, deepest, slices, slice);
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
