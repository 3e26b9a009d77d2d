#include "sim/split/pipeline_time.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

constexpr double kNotYet = -1;

class Evaluation {
 public:
  Evaluation(const std::vector<StageOps>& stages, const PipelineShape& shape, const PipelineTimes& times)
      : stages_(stages), shape_(shape), times_(times) {
    const std::size_t passes = to_index(shape.stages) * to_index(shape.chunks) * to_index(shape.micro_batches);
    forwards_.assign(passes, kNotYet);
    backwards_.assign(passes, kNotYet);
    next_.assign(stages.size(), 0);
    free_s_.assign(stages.size(), 0);
    result_.busy_s.assign(stages.size(), 0);
    result_.starts_s.resize(stages.size());
  }

  PipelineTimeline run() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (int stage = 0; stage < shape_.stages; ++stage)
        while (next_[to_index(stage)] < stages_[to_index(stage)].size() && try_next(stage)) has_moved = true;
    }
    for (int stage = 0; stage < shape_.stages; ++stage)
      if (next_[to_index(stage)] < stages_[to_index(stage)].size())
        throw std::logic_error("a pipeline's stage " + std::to_string(stage) + " waits for ever at its op " +
                               std::to_string(next_[to_index(stage)]));
    result_.makespan_s = *std::max_element(free_s_.begin(), free_s_.end());
    return std::move(result_);
  }

 private:
  double& end_of(std::vector<double>& ends, const ChunkPlace& place, int micro_batch) const {
    return ends[to_index(place.chunk * shape_.stages + place.stage) * to_index(shape_.micro_batches) +
                to_index(micro_batch)];
  }

  // When the message of another chunk is here; kNotYet before its pass has ended. None at an end of the model.
  double arrival(std::vector<double>& ends, const std::optional<ChunkPlace>& from, int stage, int micro_batch) {
    if (!from) return 0;
    const double end = end_of(ends, *from, micro_batch);
    return end == kNotYet || from->stage == stage ? end : end + times_.message_s;
  }

  // When all that the op needs is there; kNotYet when something is missing.
  double ready(const PipelineOp& op, const ChunkPlace& place) {
    if (op.pass == Pass::forward) {
      const double released =
          times_.release_s.empty() ? 0 : times_.release_s[to_index(place.stage)][to_index(op.chunk)];
      const double arrived = arrival(forwards_, shape_.before(place), place.stage, op.micro_batch);
      return arrived == kNotYet ? kNotYet : std::max(released, arrived);
    }
    if (op.pass == Pass::weight_gradient) return end_of(backwards_, place, op.micro_batch);
    const double own = end_of(forwards_, place, op.micro_batch);
    const double from_above = arrival(backwards_, shape_.next(place), place.stage, op.micro_batch);
    return own == kNotYet || from_above == kNotYet ? kNotYet : std::max(own, from_above);
  }

  // The next op of the stage, or the next two where they are computed together.
  bool try_next(int stage) {
    const std::size_t first = next_[to_index(stage)], count = op_of(stage, first).is_beside_next ? 2 : 1;
    double start_s = free_s_[to_index(stage)], spent_s = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      const PipelineOp& op = op_of(stage, i);
      const double ready_s = ready(op, {stage, op.chunk});
      if (ready_s == kNotYet) return false;
      start_s = std::max(start_s, ready_s);
      spent_s += seconds_of(stage, op);
    }
    free_s_[to_index(stage)] = start_s + spent_s;
    result_.busy_s[to_index(stage)] += spent_s;
    for (std::size_t i = first; i < first + count; ++i) {
      const PipelineOp& op = op_of(stage, i);
      result_.starts_s[to_index(stage)].push_back(start_s);
      start_s += seconds_of(stage, op);
      if (op.pass != Pass::weight_gradient)
        end_of(op.pass == Pass::forward ? forwards_ : backwards_, {stage, op.chunk}, op.micro_batch) =
            free_s_[to_index(stage)];
    }
    next_[to_index(stage)] += count;
    return true;
  }

  const PipelineOp& op_of(int stage, std::size_t index) const { return stages_[to_index(stage)][index]; }
  double seconds_of(int stage, const PipelineOp& op) const {
    return times_.chunks[to_index(stage)][to_index(op.chunk)].of(op.pass);
  }

  const std::vector<StageOps>& stages_;
  const PipelineShape shape_;
  const PipelineTimes& times_;
  std::vector<double> forwards_, backwards_;  // ends of passes: [(chunk * p + stage) * m + micro-batch]
  std::vector<std::size_t> next_;
  std::vector<double> free_s_;
  PipelineTimeline result_;
};

}  // namespace

double ChunkTimes::of(Pass pass) const {
  switch (pass) {
    case Pass::forward:
      return forward_s;
    case Pass::backward:
      return backward_s;
    case Pass::input_gradient:
      return input_gradient_s;
    case Pass::weight_gradient:
      return weight_gradient_s;
  }
  throw std::logic_error("a pass without a time");
}

PipelineTimes equal_times(const PipelineShape& shape, const ChunkTimes& times, double message_s) {
  return {std::vector<std::vector<ChunkTimes>>(to_index(shape.stages),
                                               std::vector<ChunkTimes>(to_index(shape.chunks), times)),
          message_s};
}

double PipelineTimeline::busy_s_of_all() const {
  return std::accumulate(busy_s.begin(), busy_s.end(), 0.0);
}

double PipelineTimeline::bubble_fraction() const {
  return 1 - busy_s_of_all() / (makespan_s * static_cast<double>(busy_s.size()));
}

PipelineTimeline timeline(const std::vector<StageOps>& stages, const PipelineShape& shape, const PipelineTimes& times) {
  return Evaluation(stages, shape, times).run();
}

}  // namespace lockstep::sim::split
