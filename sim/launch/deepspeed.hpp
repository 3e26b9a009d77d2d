#pragma once
// DeepSpeed's configuration (deepspeed/runtime/config.py): keys such as "zero_optimization.stage".
#include "sim/launch/facts.hpp"

namespace lockstep::sim::launch {

/// Reads batch, precision, sharding, offload and recomputation. `gpus`: number of GPUs of the job; 0: not known. A
/// value "auto", which the Trainer fills in, counts as not given.
void read_deepspeed(LaunchSettings& settings, Facts& facts);

const std::vector<UnreadKeys>& deepspeed_unread();

}  // namespace lockstep::sim::launch
