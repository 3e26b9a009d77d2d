#include "sim/replay/block_shapes.hpp"

#include <algorithm>

namespace lockstep::sim::replay {
namespace {

std::uint64_t mixed(std::uint64_t a, int number) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + static_cast<std::uint32_t>(number);
  return (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
}

bool differ_only_in_bytes(const Run& a, const Run& b) {
  return have_same_ranks(a, b) && a.reduces == b.reduces;
}

// True if `match` holds for all runs of corresponding blocks, and both plans reuse blocks in the same places.
template <typename Match>
bool do_blocks_match(const Plan& a, const Plan& b, Match&& match) {
  if (a.ranks != b.ranks || a.phases.size() != b.phases.size()) return false;
  std::unordered_map<const Transfers::Block*, const Transfers::Block*> known;
  for (std::size_t p = 0; p < a.phases.size(); ++p) {
    const auto &mine = a.phases[p].transfers.blocks(), &others = b.phases[p].transfers.blocks();
    if (mine.size() != others.size() || a.phases[p].rounds != b.phases[p].rounds) return false;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto [entry, is_new] = known.try_emplace(mine[i].get(), others[i].get());
      if (entry->second != others[i].get()) return false;
      if (!is_new || mine[i] == others[i]) continue;
      const std::vector<Run>&own = mine[i]->runs(), &other = others[i]->runs();
      if (!std::equal(own.begin(), own.end(), other.begin(), other.end(), match)) return false;
    }
  }
  return true;
}

}  // namespace

bool have_same_ranks(const Run& a, const Run& b) {
  return a.src == b.src && a.dst == b.dst && a.count == b.count && a.src_stride == b.src_stride &&
         a.dst_stride == b.dst_stride;
}

bool have_same_ranks(const Transfers::Block& a, const Transfers::Block& b) {
  return std::equal(a.runs().begin(), a.runs().end(), b.runs().begin(), b.runs().end(),
                    [](const Run& x, const Run& y) { return have_same_ranks(x, y); });
}

bool have_same_ranks(const Plan& a, const Plan& b) {
  return do_blocks_match(a, b, [](const Run& x, const Run& y) { return have_same_ranks(x, y); });
}

bool differ_only_in_bytes(const Plan& a, const Plan& b) {
  return do_blocks_match(a, b, [](const Run& x, const Run& y) { return differ_only_in_bytes(x, y); });
}

std::uint64_t hash_of_ranks(const Run& run) {
  std::uint64_t all = 0;
  for (int number : {run.src, run.dst, run.count, run.src_stride, run.dst_stride}) all = mixed(all, number);
  return all;
}

std::uint64_t hash_of_ranks(const Transfers::Block& block) {
  std::uint64_t all = 0;
  for (const Run& run : block.runs()) all = all * 0x94d049bb133111ebu + hash_of_ranks(run);
  return all;
}

}  // namespace lockstep::sim::replay
