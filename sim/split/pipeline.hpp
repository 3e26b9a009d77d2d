#pragma once
// Pipeline schedules: in which order a stage passes micro-batches forward and backward. One file per schedule, which reads
// like its paper; pipeline_time.hpp says how long they take.
//
// p stages, m micro-batches, v chunks of layers per stage. Stage s holds the model's parts s, p + s, 2 p + s, ...: chunk c
// of stage s is part c p + s. A micro-batch goes forward through the parts in their order and backward through them the
// other way.
#include <vector>

#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::split {

/// `backward` gives the gradients of inputs and weights, but in ZB-H1, where it gives those of the inputs (the paper's B)
/// and `weight_gradient` (W) those of the weights.
enum class Pass { forward, backward, weight_gradient };

struct PipelineOp {
  Pass pass = Pass::forward;
  int micro_batch = 0;
  int chunk = 0;

  bool operator==(const PipelineOp& o) const {
    return pass == o.pass && micro_batch == o.micro_batch && chunk == o.chunk;
  }
};

struct PipelineShape {
  int stages = 1;         ///< p
  int micro_batches = 1;  ///< m
  int chunks = 1;         ///< v
};

/// A stage's work of one iteration, in its order.
using StageOps = std::vector<PipelineOp>;

/// Huang et al. 2019, "GPipe": all micro-batches forward, then all backward, the last one first. A stage keeps the
/// activations of m micro-batches.
StageOps gpipe(const PipelineShape& shape, int stage);

/// 1F1B with a flush: Narayanan et al. 2019, "PipeDream", and 2021, "Efficient large-scale language model training on GPU
/// clusters using Megatron-LM", section 2.2.1. Stage s passes p - 1 - s micro-batches forward, then one forward and one
/// backward in turn, then the remaining ones backward. It keeps min(p - s, m).
StageOps one_f_one_b(const PipelineShape& shape, int stage);

/// Interleaved 1F1B: Narayanan et al. 2021, section 2.2.2; m a multiple of p. Micro-batches pass a stage's chunks in groups
/// of p. Stage s passes 2 (p - 1 - s) + (v - 1) p of them forward before the first one goes backward (Megatron-LM,
/// megatron/core/pipeline_parallel/schedules.py); it keeps one more, at most m v, of a chunk each.
StageOps interleaved(const PipelineShape& shape, int stage);

/// ZB-H1: Qi et al. 2023, "Zero bubble pipeline parallelism", section 3.1. 1F1B whose backward pass is split; stage s
/// delays the weights' gradients by s micro-batches, so that the next stage's backward pass is not kept waiting and the
/// end is filled by them.
StageOps zb_h1(const PipelineShape& shape, int stage);

/// The ops of a stage. Throws InputError where the schedule does not take the shape: chunks without interleaving,
/// micro-batches that an interleaved pipeline's stages do not divide.
StageOps stage_ops(PipelineSchedule schedule, const PipelineShape& shape, int stage);
/// The same of every stage.
std::vector<StageOps> pipeline_ops(PipelineSchedule schedule, const PipelineShape& shape);

/// How many chunks' worth of activations the stage keeps at the most: forward passes whose backward pass has not ended.
int most_in_flight(const StageOps& ops);
/// By the schedule's formula, in chunks of one micro-batch; equals most_in_flight() of its ops.
int in_flight(PipelineSchedule schedule, const PipelineShape& shape, int stage);

}  // namespace lockstep::sim::split
