#include "sim/records/stated_split.hpp"

#include <algorithm>

namespace lockstep::sim {
inline namespace records {

std::set<std::string> take_stated(const SplitSpec& split, ParallelSpec& spec) {
  std::set<std::string> keys;
  const auto take_size = [&](const char* key, const auto& stated, auto& mine) {
    if (stated == 0) return;
    mine = stated;
    keys.insert(key);
  };
  take_size("tensor", split.tensor, spec.tensor);
  take_size("pipeline", split.pipeline, spec.pipeline);
  take_size("context", split.context, spec.context);
  take_size("expert", split.expert, spec.expert);
  take_size("expert_tensor", split.expert_tensor, spec.expert_tensor);
  take_size("virtual_stages", split.virtual_stages, spec.virtual_stages);
  take_size("micro_batch", split.microbatch, spec.micro_batch);
  take_size("sharding_group", split.sharding_group, spec.sharding_group);
  take_size("expert_capacity", split.expert_capacity, spec.expert_capacity);
  take_size("expert_imbalance", split.expert_imbalance, spec.expert_imbalance);
  const auto take = [&](const char* key, const auto& stated, auto& mine) {
    if (!stated) return;
    mine = *stated;
    keys.insert(key);
  };
  take("sharding", split.sharding, spec.sharding);
  take("sharding_calls", split.sharding_calls, spec.sharding_calls);
  take("recompute", split.recompute, spec.recompute);
  take("sequence", split.sequence_parallel, spec.sequence);
  take("schedule", split.schedule, spec.schedule);
  take("tensor_overlap", split.tensor_overlap, spec.tensor_overlap);
  take("expert_overlap", split.expert_overlap, spec.expert_overlap);
  take("context_exchange", split.context_exchange, spec.context_exchange);
  take("order", split.order, spec.order);
  if (split.offload == kOffloadedOptimizer) {
    spec.offloads_optimizer = true;
    keys.insert("offload_optimizer");
  }
  return keys;
}

std::string usual_software(const SplitSpec& split) {
  const bool is_divided =
      split.is_searched || std::max({split.tensor, split.pipeline, split.context, split.expert}) > 1;
  if (is_divided || split.sharding == ShardingStage::zero1) return "Megatron-LM";
  if (split.sharding == ShardingStage::zero2) return "DeepSpeed";
  return split.sharding == ShardingStage::zero3 ? "PyTorch FSDP" : "PyTorch";
}

}  // namespace records
}  // namespace lockstep::sim
