// Compares the double binary tree with NCCL's formula (ncclGetBtree() and ncclGetDtree() in its trees.cc).
#include <map>
#include <utility>

#include "sim/collective/collectives.hpp"
#include "tests/catch.hpp"

namespace lockstep::tests {
namespace {

using namespace lockstep::sim;
using Edges = std::map<std::pair<int, int>, int>;  // (child, parent) -> count

int parent_in_first_tree(int rank, int ranks) {
  const int bit = rank & -rank, up = (rank ^ bit) | (bit << 1);
  return up < ranks ? up : rank ^ bit;
}

Edges edges_of_nccl(int ranks) {
  Edges edges;
  for (int rank = 1; rank < ranks; ++rank) {
    const int parent = parent_in_first_tree(rank, ranks);
    ++edges[{rank, parent}];
    if (ranks % 2 == 0)
      ++edges[{ranks - 1 - rank, ranks - 1 - parent}];
    else
      ++edges[{(rank + 1) % ranks, (parent + 1) % ranks}];
  }
  return edges;
}

}  // namespace

TEST_CASE("double binary tree: the second tree is mirrored for an even number of ranks, shifted for an odd one") {
  for (int ranks = 2; ranks <= 200; ++ranks) {
    INFO(ranks);
    Edges up, down;
    for (const Phase& phase : double_binary_tree_all_reduce(ranks, 1, 2).phases)
      for (const Transfer& t : phase.transfers) ++(t.reduces ? up[{t.src, t.dst}] : down[{t.dst, t.src}]);
    CHECK(up == edges_of_nccl(ranks));
    CHECK(down == up);
  }
}

}  // namespace lockstep::tests
