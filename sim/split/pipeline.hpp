#pragma once
// Pipeline schedules: the order in which a stage runs forward and backward passes of micro-batches. Each schedule has a
// file that reads like its paper. pipeline_time.hpp computes how long they take.
//
// There are p stages, m micro-batches and v chunks of layers per stage. ChunkOrder places the chunks in the model. A
// micro-batch's forward passes go through the chunks in their order, its backward passes in the reverse order.
#include <optional>
#include <vector>

#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim::split {

/// `backward` computes the gradients of inputs and weights. Some schedules split it into `input_gradient` (B of Qi et
/// al.) and a later `weight_gradient` (W).
enum class Pass { forward, backward, input_gradient, weight_gradient };

/// True if the pass computes weight gradients.
inline bool gives_weight_gradients(Pass pass) {
  return pass == Pass::backward || pass == Pass::weight_gradient;
}

/// The places of a stage's chunks in the model.
enum class ChunkOrder {
  looped,    ///< chunk c of stage s is part c p + s of v p
  folded,    ///< two chunks: parts s and 2 p - 1 - s of 2 p, so that stage 0 has both ends of the model
  mirrored,  ///< two chunks: parts s and p - 1 - s of p; each half of the micro-batches passes its own copy of a part
};

ChunkOrder chunk_order_of(PipelineSchedule schedule);

struct PipelineOp {
  Pass pass = Pass::forward;
  int micro_batch = 0;
  int chunk = 0;
  bool is_beside_next =
      false;  ///< overlapped with the stage's next op: both begin together, and end when both are done

  bool operator==(const PipelineOp& o) const {
    return pass == o.pass && micro_batch == o.micro_batch && chunk == o.chunk && is_beside_next == o.is_beside_next;
  }
};

struct ChunkPlace {
  int stage = 0, chunk = 0;
};

struct PipelineShape {
  int stages = 1;         ///< p
  int micro_batches = 1;  ///< m
  int chunks = 1;         ///< v
  ChunkOrder order = ChunkOrder::looped;

  /// Returns the number of parts through which a micro-batch passes.
  int parts() const { return order == ChunkOrder::mirrored ? stages : stages * chunks; }
  /// Returns the chunk with the next part of the model; neighbour(place, -1) is the previous one. None at the ends.
  std::optional<ChunkPlace> next(const ChunkPlace& place) const { return neighbour(place, 1); }
  std::optional<ChunkPlace> before(const ChunkPlace& place) const { return neighbour(place, -1); }
  /// Returns how many neighbouring parts are on another stage. Each takes a message per micro-batch and direction.
  int messages_of(const ChunkPlace& place) const;
  int micro_batches_of_chunk() const { return order == ChunkOrder::mirrored ? micro_batches / 2 : micro_batches; }

 private:
  std::optional<ChunkPlace> neighbour(const ChunkPlace& place, int step) const {
    const bool counts_back = place.chunk == 1 && order != ChunkOrder::looped;
    const int part = (counts_back ? parts() - 1 - place.stage : place.chunk * stages + place.stage) + step;
    if (part < 0 || part >= parts()) return std::nullopt;
    if (order == ChunkOrder::mirrored) return ChunkPlace{counts_back ? stages - 1 - part : part, place.chunk};
    if (order == ChunkOrder::folded && part >= stages) return ChunkPlace{parts() - 1 - part, 1};
    return ChunkPlace{part % stages, part / stages};
  }
};

/// Returns the split's pipeline. With one stage, forward and backward passes alternate.
PipelineShape pipeline_shape(const ParallelSpec& spec, int micro_batches);
PipelineSchedule schedule_of_pipeline(const ParallelSpec& spec);

/// A stage's work of one iteration, in order.
using StageOps = std::vector<PipelineOp>;

/// Huang et al. 2019, "GPipe": all micro-batches go forward, then all go backward, the last one first. A stage keeps
/// the activations of m micro-batches.
StageOps gpipe(const PipelineShape& shape, int stage);

/// 1F1B with a flush: Narayanan et al. 2019, "PipeDream", and 2021, "Efficient large-scale language model training on
/// GPU clusters using Megatron-LM", section 2.2.1. Stage s runs p - 1 - s forward passes, then alternates one forward
/// and one backward pass, then runs the remaining backward passes. It keeps min(p - s, m) micro-batches.
StageOps one_f_one_b(const PipelineShape& shape, int stage);

/// Interleaved 1F1B: Narayanan et al. 2021, section 2.2.2; m is a multiple of p. Micro-batches pass a stage's chunks in
/// groups of p. Stage s runs 2 (p - 1 - s) + (v - 1) p forward passes, then alternates forward and backward passes
/// (Megatron-LM, megatron/core/pipeline_parallel/schedules.py). It keeps one more, at most m v, counted in chunks.
StageOps interleaved(const PipelineShape& shape, int stage);

/// ZB-H1: Qi et al. 2023, "Zero bubble pipeline parallelism", section 3.1. It is 1F1B with a split backward pass. Stage
/// s delays the weights' gradients by s micro-batches, so that stage s - 1 gets the gradient of its output earlier.
/// Delayed weights' gradients fill the bubble at the end.
StageOps zb_h1(const PipelineShape& shape, int stage);

/// ZB-V: Qi et al. 2024, "Pipeline parallelism with controllable memory", and PyTorch's ZBVZeroBubble
/// (torch/distributed/pipelining/schedules.py). Each stage has two chunks, folded. It keeps the activations of at most
/// 2 p chunks, as many bytes as 1F1B's first stage. With equal passes no stage waits between its first pass and its
/// last.
StageOps zb_v(const PipelineShape& shape, int stage);

/// DualPipe: DeepSeek-AI 2024, "DeepSeek-V3 technical report", section 3.2.1; github.com/deepseek-ai/DualPipe,
/// dualpipe.py. Micro-batches enter at both ends of a pipeline with two copies of the parameters. A forward pass of one
/// stream overlaps with a backward pass of the other. A stage keeps at most p + 1 chunks. p is even, m is even and at
/// least 2 p.
StageOps dual_pipe(const PipelineShape& shape, int stage);

/// DualPipeV (PyTorch): the same order on a folded pipeline with one copy of the parameters. It needs half as many
/// stages for the same number of parts. A stage keeps at most 2 p + 1 chunks; m is at least 2 p.
StageOps dual_pipe_v(const PipelineShape& shape, int stage);

/// Returns the ops of a stage. Throws InputError if the schedule does not support the shape. Examples are chunks
/// without interleaving, micro-batches that are no multiple of an interleaved pipeline's stages, and DualPipe's
/// conditions.
StageOps stage_ops(PipelineSchedule schedule, const PipelineShape& shape, int stage);
/// Returns the ops of every stage.
std::vector<StageOps> pipeline_ops(PipelineSchedule schedule, const PipelineShape& shape);

/// Returns the largest number of chunks whose activations the stage keeps at one time, by its ops. A forward pass
/// counts until its backward pass, or its pass for the inputs' gradients, has ended.
int most_in_flight(const StageOps& ops);
/// Returns the most activations that a stage holds by the schedule's formula, in chunks of one micro-batch. This equals
/// most_in_flight() of its ops. Throws std::logic_error for ZB-V, DualPipe and DualPipeV, for which only bounds are
/// known.
int in_flight(PipelineSchedule schedule, const PipelineShape& shape, int stage);

}  // namespace lockstep::sim::split
