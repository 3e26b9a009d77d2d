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

/// Moves the options of a split to the job's own fields (`batch_per_gpu`, `accumulation`, `exchange`,
/// `recomputes_blocks`). `why` is the reason why the model has no split. Throws InputError for keys that whole replicas
/// do not support, and for batches that do not divide.
Job as_whole_replicas(Job job, const std::string& why);

}  // namespace lockstep::sim::stack
