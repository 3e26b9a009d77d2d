#include "sim/replay/rank_spans.hpp"

#include <algorithm>
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

RankSpans::RankSpans(const Plan& plan) : offsets_(to_index(plan.ranks) + 1, 0), plan_(plan) {
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
  int number = 0;
  for (const BlockRun& block : runs)
    for (const Run& run : block.block->runs()) {
      for (int i = 0; i < run.count; ++i) {
        const Transfer t = run.at(i);
        spans_[next[to_index(t.src)]++] = {block.first, block.last, t.dst, transfers_, number, true, t.reduces};
        spans_[next[to_index(t.dst)]++] = {block.first, block.last, t.src, transfers_, number, false, t.reduces};
        ++transfers_;
      }
      ++number;
    }
}

bool RankSpans::fit(const Plan& plan) const {
  const auto has_same_rounds = [](const Phase& a, const Phase& b) { return a.rounds == b.rounds; };
  if (plan.ranks != plan_.ranks ||
      !std::equal(plan.phases.begin(), plan.phases.end(), plan_.phases.begin(), plan_.phases.end(), has_same_rounds))
    return false;
  const std::vector<BlockRun> mine = runs_of(plan_), other = runs_of(plan);
  const auto is_same_run = [](const Run& a, const Run& b) {
    return a.src == b.src && a.dst == b.dst && a.reduces == b.reduces && a.count == b.count &&
           a.src_stride == b.src_stride && a.dst_stride == b.dst_stride;
  };
  return std::equal(mine.begin(), mine.end(), other.begin(), other.end(), [&](const BlockRun& a, const BlockRun& b) {
    return a.first == b.first && a.last == b.last &&
           (a.block == b.block || std::equal(a.block->runs().begin(), a.block->runs().end(), b.block->runs().begin(),
                                             b.block->runs().end(), is_same_run));
  });
}

std::vector<std::int64_t> RankSpans::bytes_of_runs(const Plan& plan) {
  std::vector<std::int64_t> bytes;
  for (const BlockRun& block : runs_of(plan))
    for (const Run& run : block.block->runs()) bytes.push_back(run.bytes);
  return bytes;
}

}  // namespace lockstep::sim::replay
