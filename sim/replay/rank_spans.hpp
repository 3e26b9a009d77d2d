#pragma once
// Prepares the transfers of every rank in a plan for a replay by flows. A transfer of a rank that consecutive phases
// repeat is stored as one span. So a pipeline of many slices takes no more memory than one of few. Plans that differ only
// in bytes, such as those of equal exchanges of all layers, share their spans.
#include <cstdint>
#include <vector>

#include "sim/collective/plan.hpp"

namespace lockstep::sim::replay {

/// One end of a transfer, as its rank sees it, in the phases first .. last - 1.
struct Span {
  std::int32_t first;
  std::int32_t last;
  std::int32_t peer;
  std::int32_t transfer;  ///< equal at both ends, below RankSpans::transfers()
  std::int32_t run;       ///< index in RankSpans::bytes_of_runs()
  bool is_send;
  bool reduces;
  bool is_in(int phase) const { return first <= phase && phase < last; }
};

class RankSpans {
 public:
  /// Keeps a reference to the plan.
  explicit RankSpans(const Plan& plan);
  /// True if the plan has the same transfers, apart from their bytes.
  bool fit(const Plan& plan) const;
  /// The bytes of each transfer of a plan, by Span::run.
  static std::vector<std::int64_t> bytes_of_runs(const Plan& plan);
  /// Returns spans ordered by first phase, then as in the plan.
  const Span* begin(int rank) const { return spans_.data() + offsets_[static_cast<std::size_t>(rank)]; }
  const Span* end(int rank) const { return spans_.data() + offsets_[static_cast<std::size_t>(rank) + 1]; }
  int rounds(int phase) const { return rounds_[static_cast<std::size_t>(phase)]; }
  int transfers() const { return transfers_; }

 private:
  std::vector<std::size_t> offsets_;  // by rank, into spans_; one more at the end
  std::vector<Span> spans_;
  std::vector<int> rounds_;  // by phase
  const Plan& plan_;
  int transfers_ = 0;
};

}  // namespace lockstep::sim::replay
