#include "sim/replay/link_ends.hpp"

#include <cmath>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

namespace {

constexpr std::size_t kChildren = 4;  // half as deep as a binary heap, and as many comparisons in one cache line

}  // namespace

void LinkEnds::set(int link, double end_s) {
  if (to_index(link) >= slot_of_.size()) slot_of_.resize(to_index(link) + 1, -1);
  const int slot = slot_of_[to_index(link)];
  if (std::isinf(end_s)) {
    if (slot < 0) return;
    slot_of_[to_index(link)] = -1;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (last.link == link) return;
    const double before_s = heap_[to_index(slot)].end_s;
    return last.end_s < before_s ? rise(to_index(slot), last) : sink(to_index(slot), last);
  }
  if (slot < 0) {
    heap_.push_back({end_s, link});
    return rise(heap_.size() - 1, {end_s, link});
  }
  const double before_s = heap_[to_index(slot)].end_s;
  if (end_s < before_s)
    rise(to_index(slot), {end_s, link});
  else if (end_s > before_s)
    sink(to_index(slot), {end_s, link});
}

void LinkEnds::place(std::size_t slot, const Entry& entry) {
  heap_[slot] = entry;
  slot_of_[to_index(entry.link)] = static_cast<int>(slot);
}

void LinkEnds::rise(std::size_t slot, const Entry& entry) {
  while (slot > 0) {
    const std::size_t parent = (slot - 1) / kChildren;
    if (heap_[parent].end_s <= entry.end_s) break;
    place(slot, heap_[parent]);
    slot = parent;
  }
  place(slot, entry);
}

void LinkEnds::sink(std::size_t slot, const Entry& entry) {
  for (;;) {
    const std::size_t first = slot * kChildren + 1;
    if (first >= heap_.size()) break;
    std::size_t least = first;
    for (std::size_t child = first + 1; child < heap_.size() && child < first + kChildren; ++child)
      if (heap_[child].end_s < heap_[least].end_s) least = child;
    if (heap_[least].end_s >= entry.end_s) break;
    place(slot, heap_[least]);
    slot = least;
  }
  place(slot, entry);
}

}  // namespace lockstep::sim::replay
