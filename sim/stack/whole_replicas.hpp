#pragma once
// Jobs whose model cannot be split (encoder and decoder, diffusion, images): every GPU holds a whole replica. Options
// of a split that apply to whole replicas:
//
//   sharding zero3 (fsdp)   the algorithm `sharded`
//   sharding zero2          the same, with weights kept from forward to backward
//   sharding zero1          as zero2, with all gradients on every GPU until the last micro-step, which exchanges them
//   recompute full          activation checkpointing by blocks (engine/model/checkpoints.hpp)
//   micro_batch             the batch of a micro-step; with the global batch it gives the micro-steps of an iteration
#include <string>

#include "sim/job/job.hpp"

namespace lockstep::sim::stack {

/// The job without split and global batch: `batch_per_gpu`, `accumulation`, `exchange`, `recomputes_blocks` say the same. `why`:
/// no split is known of its model. Throws InputError for every key of a split that whole replicas do not have, and for batches
/// that do not come out even.
Job as_whole_replicas(Job job, const std::string& why);

}  // namespace lockstep::sim::stack
