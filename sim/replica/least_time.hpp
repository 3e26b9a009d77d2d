#pragma once
// A bound that no iteration of a split goes below, at the price of a look at its blocks: what is exchanged between replicas,
// gathered and scattered is left out, and so are messages between stages.
//
//   T >= sum over the stages s before the last one (f(s, chunk 0) + min over chunks b(s, c))
//        + m times what the last stage passes of a micro-batch
//
// The last stage's first pass waits for the first chunk of every stage before it, and behind its last one a gradient
// passes back through each of them. With one stage, or equal ones and one chunk, this is the pipeline's time.
#include <vector>

#include "sim/replica/rank_cost.hpp"
#include "sim/replica/split_links.hpp"

namespace lockstep::sim::replica {

/// Of all splits of the same tensor, context and expert ranks, micro-batch and recomputation.
class LeastTime {
 public:
  /// `links` are those of the job's ranks; `slowest` as of SplitModel::iteration().
  LeastTime(const SplitJob& job, RankSecondsOfSplits& seconds, const SplitLinks& links, double slowest);
  double seconds(const SplitJob& job) const;

 private:
  struct Passed {
    double forward_s = 0, backward_s = 0;
  };
  Passed of_part(const ModelPart& part) const;

  std::vector<double> forward_until_s_, backward_until_s_;  // of the blocks before the i-th
  Passed embedding_, loss_;
};

}  // namespace lockstep::sim::replica
