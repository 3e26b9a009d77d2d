#pragma once
// DeepSpeed's configuration (deepspeed/runtime/config.py): keys such as "zero_optimization.stage".
#include "sim/launch/facts.hpp"

namespace lockstep::sim::launch {

/// Batch, precision, sharding, offload and recomputation. `gpus`: of the job, as far as known; 0: not known. "auto", which the
/// Trainer fills in, is as if it were not given.
void read_deepspeed(LaunchSettings& settings, Facts& facts);

const std::vector<UnreadKeys>& deepspeed_unread();

}  // namespace lockstep::sim::launch
