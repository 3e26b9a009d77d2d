#pragma once
// The splits that a software can train, among which a search may choose (sim/program/split_space.hpp).
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::scenario {

/// One kind of recomputation.
struct RecomputeChoice {
  Recomputation recompute = Recomputation::none;
  std::set<RecomputeModule> modules{};  ///< for `selective`; none: core_attention
};

/// All splits that Lockstep simulates, unless a software's entry in the catalogue limits them.
struct SplitAbilities {
  std::set<ParallelDimension> dimensions{ParallelDimension::tensor, ParallelDimension::context,
                                         ParallelDimension::expert, ParallelDimension::pipeline};
  std::set<PipelineSchedule> schedules{PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved};
  std::set<ShardingStage> sharding{ShardingStage::none, ShardingStage::zero1, ShardingStage::zero2,
                                   ShardingStage::zero3};
  bool has_sharding_groups = true;
  bool splits_sequences = true;   ///< over tensor ranks
  bool overlaps_experts = false;  ///< experts' all-to-alls overlap the passes of another micro-batch
  ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;  ///< the fastest that it has
  /// Ordered from the least time to the least memory.
  std::vector<RecomputeChoice> recomputations{{}, {Recomputation::selective}, {Recomputation::full}};
  std::string source;  ///< where this is documented

  bool has(ParallelDimension dimension) const { return dimensions.count(dimension) > 0; }
};

}  // namespace lockstep::sim::scenario
