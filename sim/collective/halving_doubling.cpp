#include <algorithm>
#include <utility>

#include "sim/collective/collectives.hpp"

namespace lockstep::sim::collective {
namespace {

// Lists the ranks of the core: the even ranks of the first `folded` pairs, then all others.
class Core {
 public:
  Core(int size, int folded) : size_(size), folded_(folded) {}

  /// All pairs of core indices i and i ^ distance send to each other.
  Phase exchange(int distance, std::int64_t bytes, bool reduces) const {
    Transfers::Block block;
    const int halves = size_ / (2 * distance);  // in a block of 2 distance indices, the halves exchange
    const bool is_far = distance > halves;
    for (int n = 0; n < (is_far ? halves : distance); ++n) {
      const int first = is_far ? 2 * distance * n : n, stride = is_far ? 1 : 2 * distance;
      add(first, first + distance, is_far ? distance : halves, stride, bytes, reduces, block);
    }
    return {Transfers(std::move(block)), 1};
  }

 private:
  int rank(int index) const { return index < folded_ ? 2 * index : index + folded_; }
  int stride(int index, int of_indices) const { return index < folded_ ? 2 * of_indices : of_indices; }

  // Adds the exchange of indices from, from + stride, ... with their partners. One run never crosses the fold.
  void add(int from, int partner, int count, int step, std::int64_t bytes, bool reduces,
           Transfers::Block& block) const {
    for (int i = 0; i < count;) {
      const int a = from + i * step, b = partner + i * step;
      int piece = count - i;
      for (int index : {a, b})
        if (index < folded_) piece = std::min(piece, (folded_ - index + step - 1) / step);
      const int apart_a = stride(a, step), apart_b = stride(b, step);
      block.append(Run{rank(a), rank(b), bytes, reduces, piece, apart_a, apart_b});
      block.append(Run{rank(b), rank(a), bytes, reduces, piece, apart_b, apart_a});
      i += piece;
    }
  }

  int size_;
  int folded_;
};

}  // namespace

Plan halving_doubling_all_reduce(int ranks, std::int64_t bytes) {
  Plan plan{"halving-doubling", ranks, bytes, {}};
  if (ranks < 2) return plan;
  int core = 1;
  while (core * 2 <= ranks) core *= 2;
  const int folded = ranks - core;  // the first 2 * folded ranks pair up; the even one of a pair stays in the core
  const Core pairs(core, folded);
  Phase fold, unfold;
  fold.transfers.append(Run{1, 0, bytes, true, folded, 2, 2});
  unfold.transfers.append(Run{0, 1, bytes, false, folded, 2, 2});
  if (folded > 0) plan.phases.edit().push_back(fold);
  // Halving: half of the remaining vector goes to a partner half as far away. Doubling retraces the same steps.
  std::int64_t parts = 2;
  for (int distance = core / 2; distance >= 1; distance /= 2, parts *= 2)
    plan.phases.edit().push_back(pairs.exchange(distance, chunk_bytes(bytes, parts), true));
  for (int distance = 1; distance < core; distance *= 2) {
    parts /= 2;
    plan.phases.edit().push_back(pairs.exchange(distance, chunk_bytes(bytes, parts), false));
  }
  if (folded > 0) plan.phases.edit().push_back(unfold);
  return plan;
}

}  // namespace lockstep::sim::collective
