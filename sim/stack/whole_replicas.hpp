#pragma once
// A job of a model that no split is known of (encoder and decoder, diffusion, images): every GPU holds a whole replica. What
// such a job may give of a split is what whole replicas have:
//
//   sharding zero3 (fsdp)   the algorithm `sharded`
//   sharding zero2          the same, with weights kept from forward to backward
//   sharding zero1          as zero2, with all gradients on every GPU until the last micro-step, which exchanges them
//   recompute full          activation checkpointing by blocks (engine/model/checkpoints.hpp)
//   micro_batch             the batch of a micro-step; the global batch says how many micro-steps an iteration has
#include <string>

#include "sim/job/job.hpp"

namespace lockstep::sim::stack {

/// The job without split and global batch: `batch_per_gpu`, `accumulation`, `exchange`, `recomputes_blocks` say the same. `why`:
/// no split is known of its model. Throws InputError for every key of a split that whole replicas do not have, and for batches
/// that do not come out even.
Job as_whole_replicas(Job job, const std::string& why);

}  // namespace lockstep::sim::stack
