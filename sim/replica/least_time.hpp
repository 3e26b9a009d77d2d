#pragma once
// A cheap lower bound for the time of a split's iteration, computed from its blocks. It leaves out the exchange between
// replicas, the gathering and scattering of shards, and messages between stages.
//
//   `T >= sum over the stages s before the last one (f(s, chunk 0) + min over chunks b(s, c))
//         + m times the passes of a micro-batch through the last stage`
//
// The last stage's first pass waits for the first chunk of every stage before it. After its last pass a gradient passes
// back through each of these stages. With one stage, or equal stages with one chunk each, this is the pipeline's time.
#include <vector>

#include "sim/replica/rank_cost.hpp"
#include "sim/replica/split_links.hpp"

namespace lockstep::sim::replica {

/// Bounds the time of all splits with the same tensor, context and expert ranks, micro-batch and recomputation.
class LeastTime {
 public:
  /// `links` are those of the job's ranks; `slowest` is that of SplitModel::iteration().
  LeastTime(const SplitJob& job, RankSecondsOfSplits& seconds, const SplitLinks& links, double slowest);
  double seconds(const SplitJob& job) const;

 private:
  struct PassTimes {
    double forward_s = 0, backward_s = 0;
  };
  /// Returns the time of a micro-batch's passes through the part's blocks, embedding and loss.
  PassTimes find_pass_times(const ModelPart& part) const;

  std::vector<double> forward_until_s_, backward_until_s_;  // of the blocks before the i-th
  PassTimes embedding_, loss_;
};

}  // namespace lockstep::sim::replica
