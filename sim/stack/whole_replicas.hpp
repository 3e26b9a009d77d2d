#pragma once
// Jobs whose model cannot be split (encoder and decoder, diffusion, images): every GPU holds a whole replica. Options
// of a split that apply to whole replicas:
//
//   sharding zero3 (fsdp)   the algorithm `sharded`; zero1 and zero2 likewise, but weights stay from forward to
//                           backward pass
//   recompute full          activation checkpointing by blocks (engine/model/checkpoints.hpp)
//   micro_batch             the batch of a micro-step; with the global batch it gives the micro-steps of an iteration
#include <string>

#include "sim/job/job.hpp"

namespace lockstep::sim::stack {

/// Converts split and global batch of the job to `batch_per_gpu`, `accumulation`, `exchange` and `recomputes_blocks`.
/// `why`: the reason why the model cannot be split. Throws InputError for options that whole replicas do not have, and
/// for batches that GPUs or micro-steps do not divide.
Job as_whole_replicas(Job job, const std::string& why);

}  // namespace lockstep::sim::stack
