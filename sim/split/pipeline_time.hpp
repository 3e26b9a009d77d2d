#pragma once
// Computes the time of a pipeline's iteration. Each stage runs its ops in their order, each op as soon as its inputs
// have arrived. Messages overlap with computation and do not wait for one another.
//
// It agrees with these closed forms if stages are equal and messages take no time. There are m micro-batches. `ideal`
// is m times the time of one micro-batch's passes.
//   GPipe, 1F1B   (m + p - 1)(t_f + t_b): a bubble of (p-1)/(m+p-1) of the whole.
//   Interleaved   ideal (1 + (p-1) / (v m)).
//   ZB-H1         ideal + (p-1) max(t_f + t_b - t_w, t_f, t_b) if m is at least p. This is the paper's
//                 (p-1)(t_f + t_b - t_w) if t_w is at most t_f and t_b.
//   ZB-V          ideal + (p-1) t_f with equal passes and m of 2 p - 1 or more; t of a chunk.
//   DualPipe      ideal + (p/2-1) 2 t_f with equal passes: DeepSeek-AI's (p/2-1)(F&B + B - 3 W), where B is both
//                 gradients. For DualPipeV replace p/2 by p; t of a chunk.
#include <optional>
#include <vector>

#include "sim/split/pipeline.hpp"
#include "sim/split/pipeline_repetition.hpp"

namespace lockstep::sim::split {

/// Seconds of one micro-batch's passes through one chunk.
struct ChunkTimes {
  double forward_s = 0;
  double backward_s = 0;  ///< gradients of inputs and weights, if the schedule does not split the pass
  double input_gradient_s = 0, weight_gradient_s = 0;  ///< if the schedule splits it

  double of(Pass pass) const {
    switch (pass) {
      case Pass::forward:
        return forward_s;
      case Pass::backward:
        return backward_s;
      case Pass::input_gradient:
        return input_gradient_s;
      case Pass::weight_gradient:
        break;
    }
    return weight_gradient_s;
  }
};

struct PipelineTimes {
  std::vector<std::vector<ChunkTimes>> chunks;  ///< [stage][chunk]
  double message_s = 0;                         ///< from a stage to its neighbour in either direction
  /// [stage][chunk]: earliest start of the chunk's forward passes; empty: 0.
  std::vector<std::vector<double>> release_s{};
};

/// Gives every stage and chunk the same times.
PipelineTimes equal_times(const PipelineShape& shape, const ChunkTimes& times, double message_s = 0);

struct PipelineTimeline {
  double makespan_s = 0;  ///< from the first op's start to the last one's end
  std::vector<std::vector<double>>
      starts_s;  ///< [stage][index in its ops]; the second of two overlapped ops starts where the first would end alone
  std::vector<double> busy_s;  ///< per stage

  double busy_s_of_all() const;
  /// Returns idle time over makespan times stages.
  double bubble_fraction() const;
};

/// The ops of all stages, each one after all ops for which it waits. The order does not depend on times, so it is made
/// once and timed often.
class PipelineOrder {
 public:
  /// Throws std::logic_error that names the op if the stages deadlock.
  PipelineOrder(std::vector<StageOps> stages, const PipelineShape& shape);

  PipelineTimeline run(const PipelineTimes& times) const;

  /// Runs a pipeline of the same schedule with `more` micro-batches. Once the times repeat themselves, the steps that
  /// follow start as much later as the additional periods take. Makespan, busy time and the starts from there on are
  /// those of the longer pipeline. Returns nothing if the times do not repeat themselves to 1e-13, or if a period's
  /// micro-batches do not divide `more`.
  std::optional<PipelineTimeline> run_longer(const PipelineTimes& times, int more) const;
  /// True if the order repeats itself, so that run_longer() may succeed.
  bool repeats() const { return repetition_.period > 0; }
  const std::vector<StageOps>& stages() const { return stages_; }

 private:
  std::vector<StageOps> stages_;
  std::vector<PipelineStep> steps_;
  PipelineRepetition repetition_;
};

}  // namespace lockstep::sim::split
