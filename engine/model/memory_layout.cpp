#include "engine/model/memory_layout.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::model {
namespace {

bool meet(const Use& a, const Use& b, std::int64_t cycle) {
  const auto overlap = [](const Use& x, const Use& y, std::int64_t shift) {
    return x.begin < y.end + shift && y.begin + shift < x.end;
  };
  return overlap(a, b, 0) || overlap(a, b, cycle) || overlap(a, b, -cycle);
}

}  // namespace

std::int64_t lay_out(std::vector<Use>& uses, std::int64_t cycle) {
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return uses[a].size > uses[b].size; });
  std::vector<const Use*> placed;  // sorted by offset
  std::int64_t size = 0;
  for (const std::size_t i : order) {
    Use& use = uses[i];
    for (const Use* other : placed) {
      if (other->offset >= use.offset + use.size) break;
      if (meet(use, *other, cycle)) use.offset = std::max(use.offset, other->offset + other->size);
    }
    const auto by_offset = [](const Use* a, const Use* b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &use, by_offset), &use);
    size = std::max(size, use.offset + use.size);
  }
  return size;
}

}  // namespace lockstep::model
