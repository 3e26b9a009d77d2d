#pragma once
// Finds the fastest split: all splits of split_space.hpp that fit into memory are ranked by the closed form's
// iteration.
//
// Every split has a cheap lower bound on its time (sim/replica/least_time.hpp). Splits are predicted in the order of
// these bounds, until no bound is below the slowest of the best. The remaining splits are slower. Splits whose times
// differ by less than kTieShare are ordered by memory, the least first.
//
// If no split fits and the scenario ignores memory, splits are ranked by memory instead: the one closest to fitting
// first.
//
// All splits of a machine share the errors of its inputs, which cancel if they change two splits equally. The groups g
// of inputs are computing, bandwidth and latency. Moving a group from its worse to its better end changes T_b/T_a by a
// relative amount:
//   `d_g = (T_b/T_a at the better end - T_b/T_a at the worse end) / 2`
// If ln(T_b / T_a) <= sqrt(sum d_g^2), the order of a and b is uncertain, and b is tied.
#include <vector>

#include "sim/program/gpu_memory.hpp"
#include "sim/program/split_space.hpp"
#include "sim/replica/iteration.hpp"

namespace lockstep::sim::point {

/// Times that a table shows as equal ("+0.0 %").
inline constexpr double kTieShare = 0.0005;

struct RankedSplit {
  ParallelSpec spec;  ///< with `data` set
  SplitIteration iteration;
  GpuMemory memory;
  int micro_batches = 1;
  bool is_tied = false;  ///< its order relative to the fastest is uncertain
};

struct [[nodiscard]] SplitRanking {
  int gpus = 0;
  std::vector<RankedSplit> best;  ///< the fastest first; if none fits, the closest to fitting first
  int valid = 0;                  ///< number of splits; those that differ only in recomputation count once
  int fitting = 0;                ///< splits that fit with at least one recomputation
  int predicted = 0;              ///< of `fitting`; the bounds of the others exceed the times of `best`

  bool fits() const { return fitting > 0; }
  int tied() const;  ///< number of splits tied with the fastest, without the fastest
};

/// No split divides the model or the batch, or none fits into memory.
struct NoSplit : InputError {
  NoSplit(const std::string& why_none, const std::string& allowed, bool is_memory = false)
      : InputError(why_none + (allowed.empty() ? "" : "; " + allowed)), why(why_none), exceeds_memory(is_memory) {}
  std::string why;
  bool exceeds_memory;  ///< true: splits exist, but none fits
};

/// Returns the `most` fastest splits. Each has the least recomputation with which it fits, because more takes longer.
/// Throws NoSplit if no split fits, unless the scenario ignores memory, and the errors of splits_of().
SplitRanking best_splits(const Scenario& scenario, int gpus, const SplitQuestion& question, int most = 10);

/// Returns the scenario with the split `spec` at `gpus` GPUs.
Scenario scenario_with_split(Scenario scenario, const ParallelSpec& spec, int gpus);

}  // namespace lockstep::sim::point
