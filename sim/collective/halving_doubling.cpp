#include "sim/collective/collectives.hpp"

namespace lockstep::sim {
inline namespace collective {
namespace {

// The pairs of one exchange at `distance` among the core ranks; `rank_of` maps a core index to its rank.
Phase exchange(const std::vector<int>& rank_of, int distance, std::int64_t bytes, bool reduces) {
  Phase phase;
  for (int i = 0; i < static_cast<int>(rank_of.size()); ++i)
    phase.transfers.push_back(
        {rank_of[static_cast<std::size_t>(i)], rank_of[static_cast<std::size_t>(i ^ distance)], bytes, reduces});
  return phase;
}

}  // namespace

Plan halving_doubling_all_reduce(int ranks, std::int64_t bytes) {
  Plan plan{"halving-doubling", ranks, bytes, {}};
  if (ranks < 2) return plan;
  int core = 1;
  while (core * 2 <= ranks) core *= 2;
  const int folded = ranks - core;  // the first 2 * folded ranks pair up; the even one of a pair stays in the core

  std::vector<int> rank_of;
  for (int i = 0; i < core; ++i) rank_of.push_back(i < folded ? 2 * i : i + folded);

  Phase fold, unfold;
  for (int i = 0; i < folded; ++i) {
    fold.transfers.push_back({2 * i + 1, 2 * i, bytes, true});
    unfold.transfers.push_back({2 * i, 2 * i + 1, bytes});
  }
  if (folded > 0) plan.phases.push_back(fold);
  // Halving: half of what is left goes to the partner at half the distance; doubling retraces the way.
  std::int64_t parts = 2;
  for (int distance = core / 2; distance >= 1; distance /= 2, parts *= 2)
    plan.phases.push_back(exchange(rank_of, distance, chunk_bytes(bytes, parts), true));
  for (int distance = 1; distance < core; distance *= 2) {
    parts /= 2;
    plan.phases.push_back(exchange(rank_of, distance, chunk_bytes(bytes, parts), false));
  }
  if (folded > 0) plan.phases.push_back(unfold);
  return plan;
}

}  // namespace collective
}  // namespace lockstep::sim
