#include "sim/replay/rank_spans.hpp"

#include <unordered_map>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {
namespace {

// A block in consecutive phases.
struct BlockRun {
  const Transfers::Block* block;
  int first;
  int last;
};

// Ordered by first phase, then as in that phase.
std::vector<BlockRun> runs_of(const Plan& plan) {
  std::vector<BlockRun> runs;
  std::unordered_map<const Transfers::Block*, std::size_t> latest;
  for (int p = 0; p < static_cast<int>(plan.phases.size()); ++p)
    for (const auto& block : plan.phases[to_index(p)].transfers.blocks()) {
      const auto known = latest.find(block.get());
      if (known != latest.end() && runs[known->second].last == p) {
        ++runs[known->second].last;
      } else {
        latest[block.get()] = runs.size();
        runs.push_back({block.get(), p, p + 1});
      }
    }
  return runs;
}

}  // namespace

RankSpans::RankSpans(const Plan& plan) : offsets_(to_index(plan.ranks) + 1, 0) {
  for (const Phase& phase : plan.phases) rounds_.push_back(phase.rounds);
  const std::vector<BlockRun> runs = runs_of(plan);
  for (const BlockRun& run : runs)
    for (const Transfer& t : *run.block) {
      ++offsets_[to_index(t.src) + 1];
      ++offsets_[to_index(t.dst) + 1];
    }
  for (std::size_t rank = 1; rank < offsets_.size(); ++rank) offsets_[rank] += offsets_[rank - 1];
  spans_.resize(offsets_.back());
  std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
  for (const BlockRun& run : runs)
    for (const Transfer& t : *run.block) {
      spans_[next[to_index(t.src)]++] = {t.bytes, run.first, run.last, t.dst, transfers_, true, t.reduces};
      spans_[next[to_index(t.dst)]++] = {t.bytes, run.first, run.last, t.src, transfers_, false, t.reduces};
      ++transfers_;
    }
}

}  // namespace lockstep::sim::replay
