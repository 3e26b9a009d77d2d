#pragma once
// Plans the exchanges of a split's groups as messages. A plan contains all groups of one kind in one stage.
//
// Rings are rounds between neighbours, which wait for no other rank. An operation of NCCL's model has the model's time;
// all groups of the stage begin and leave it together.

#include "sim/replica/split_links.hpp"

namespace lockstep::sim::replica {

class GroupPlans {
 public:
  GroupPlans(const Scenario& scenario, const ParallelSpec& spec, const SplitLinks& links);

  /// Plans the exchange of the groups that have a member in the stage. These are the stage's own groups; for the tied
  /// embedding they are the groups of its two stages.
  Plan exchange(const Traffic& traffic, int stage) const;
  /// Sends a message from every rank of a stage to the rank in the same place of another stage.
  Plan message(double bytes, int from_stage, int to_stage) const;
  /// All GPUs begin and leave together; it takes no time.
  Plan barrier() const;
  int stage_of(int rank) const;

 private:
  std::vector<RankGroup> groups_in(TrafficGroup group, int stage) const;

  const SplitLinks& links_;
  ParallelSpec spec_;
  RankOrder order_;
  int gpus_per_node_;
  bool is_nccl_;
};

}  // namespace lockstep::sim::replica
