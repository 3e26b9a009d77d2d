#include "engine/model/memory_layout.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::model {
namespace {

struct Placed {
  std::int64_t offset, end_offset;
  std::int64_t begin, end;  // of its use
};

bool overlap(const Use& a, const Placed& b, std::int64_t shift) {
  return a.begin < b.end + shift && b.begin + shift < a.end;
}

// Only a use that ends beyond the cycle can meet one of the next or the previous cycle.
bool meet(const Use& a, const Placed& b, std::int64_t cycle) {
  if (overlap(a, b, 0)) return true;
  if (a.end <= cycle && b.end <= cycle) return false;
  return overlap(a, b, cycle) || overlap(a, b, -cycle);
}

}  // namespace

std::int64_t lay_out(std::vector<Use>& uses, std::int64_t cycle) {
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return uses[a].size > uses[b].size; });
  std::vector<Placed> placed;  // sorted by offset
  placed.reserve(uses.size());
  std::int64_t size = 0;
  for (const std::size_t i : order) {
    Use& use = uses[i];
    for (const Placed& other : placed) {
      if (other.offset >= use.offset + use.size) break;
      if (other.end_offset > use.offset && meet(use, other, cycle)) use.offset = other.end_offset;
    }
    const auto by_offset = [](std::int64_t offset, const Placed& other) { return offset < other.offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), use.offset, by_offset),
                  {use.offset, use.offset + use.size, use.begin, use.end});
    size = std::max(size, use.offset + use.size);
  }
  return size;
}

}  // namespace lockstep::model
