#include "sim/split/pipeline_time.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

constexpr int kNoStep = -1;  // the pass has no step yet, or waits for none

class Ordering {
 public:
  Ordering(const std::vector<StageOps>& stages, const PipelineShape& shape, std::vector<PipelineStep>& steps)
      : stages_(stages), shape_(shape), steps_(steps) {
    const std::size_t passes = to_index(shape.stages) * to_index(shape.chunks) * to_index(shape.micro_batches);
    forwards_.assign(passes, kNoStep);
    backwards_.assign(passes, kNoStep);
    next_.assign(stages.size(), 0);
    std::size_t ops = 0;
    for (const StageOps& stage : stages) ops += stage.size();
    steps_.reserve(ops);
  }

  void run() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (int stage = 0; stage < shape_.stages; ++stage)
        while (next_[to_index(stage)] < stages_[to_index(stage)].size() && try_next(stage)) has_moved = true;
    }
    for (int stage = 0; stage < shape_.stages; ++stage)
      if (next_[to_index(stage)] < stages_[to_index(stage)].size())
        throw std::logic_error("a pipeline's stage " + std::to_string(stage) + " waits for ever at its op " +
                               std::to_string(next_[to_index(stage)]));
  }

 private:
  int& step_of(std::vector<int>& steps, const ChunkPlace& place, int micro_batch) const {
    return steps[to_index(place.chunk * shape_.stages + place.stage) * to_index(shape_.micro_batches) +
                 to_index(micro_batch)];
  }

  // Makes the step wait for the pass of another chunk. Returns true if that pass has a step, or if the model ends here,
  // so that there is no such chunk.
  bool wait_for(std::vector<int>& steps, const std::optional<ChunkPlace>& from, int stage, int micro_batch,
                PipelineStep& step) {
    if (!from) return true;
    step.arrives_from = step_of(steps, *from, micro_batch);
    step.has_message = from->stage != stage;
    return step.arrives_from != kNoStep;
  }

  // Returns true if all passes on which the op depends have steps.
  bool wait_for_all(const PipelineOp& op, const ChunkPlace& place, PipelineStep& step) {
    if (op.pass == Pass::forward) {
      step.is_released = true;
      return wait_for(forwards_, shape_.before(place), place.stage, op.micro_batch, step);
    }
    step.own = step_of(op.pass == Pass::weight_gradient ? backwards_ : forwards_, place, op.micro_batch);
    if (step.own == kNoStep || op.pass == Pass::weight_gradient) return step.own != kNoStep;
    return wait_for(backwards_, shape_.next(place), place.stage, op.micro_batch, step);
  }

  // Adds the next op of the stage, or the next two if they are overlapped, unless an op must wait.
  bool try_next(int stage) {
    const StageOps& ops = stages_[to_index(stage)];
    const std::size_t first = next_[to_index(stage)], count = ops[first].is_beside_next ? 2 : 1;
    std::array<PipelineStep, 2> found;
    for (std::size_t i = 0; i < count; ++i) {
      const PipelineOp& op = ops[first + i];
      found[i].stage = stage;
      found[i].chunk = op.chunk;
      found[i].pass = op.pass;
      found[i].is_beside_next = i + 1 < count;
      if (!wait_for_all(op, {stage, op.chunk}, found[i])) return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const PipelineOp& op = ops[first + i];
      if (op.pass != Pass::weight_gradient)
        step_of(op.pass == Pass::forward ? forwards_ : backwards_, {stage, op.chunk}, op.micro_batch) =
            static_cast<int>(steps_.size());
      steps_.push_back(found[i]);
    }
    next_[to_index(stage)] += count;
    return true;
  }

  const std::vector<StageOps>& stages_;
  const PipelineShape& shape_;
  std::vector<PipelineStep>& steps_;
  std::vector<int> forwards_, backwards_;  // steps of passes: [(chunk * p + stage) * m + micro-batch]
  std::vector<std::size_t> next_;
};

}  // namespace

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

PipelineOrder::PipelineOrder(std::vector<StageOps> stages, const PipelineShape& shape) : stages_(std::move(stages)) {
  Ordering(stages_, shape, steps_).run();
}

PipelineTimeline PipelineOrder::run(const PipelineTimes& times) const {
  PipelineTimeline line;
  line.busy_s.assign(stages_.size(), 0);
  line.starts_s.resize(stages_.size());
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) line.starts_s[stage].reserve(stages_[stage].size());
  std::vector<double> free_s(stages_.size(), 0), ends_s(steps_.size());
  const auto seconds_of = [&](const PipelineStep& step) {
    return times.chunks[to_index(step.stage)][to_index(step.chunk)].of(step.pass);
  };
  for (std::size_t first = 0; first < steps_.size();) {
    const std::size_t end = first + (steps_[first].is_beside_next ? 2 : 1);
    const std::size_t stage = to_index(steps_[first].stage);
    double start_s = free_s[stage], spent_s = 0;
    for (std::size_t i = first; i < end; ++i) {
      const PipelineStep& step = steps_[i];
      if (step.is_released && !times.release_s.empty())
        start_s = std::max(start_s, times.release_s[stage][to_index(step.chunk)]);
      if (step.own != kNoStep) start_s = std::max(start_s, ends_s[to_index(step.own)]);
      if (step.arrives_from != kNoStep)
        start_s = std::max(start_s, ends_s[to_index(step.arrives_from)] + (step.has_message ? times.message_s : 0));
      spent_s += seconds_of(step);
    }
    free_s[stage] = start_s + spent_s;
    line.busy_s[stage] += spent_s;
    for (; first < end; ++first) {
      line.starts_s[stage].push_back(start_s);
      start_s += seconds_of(steps_[first]);
      ends_s[first] = free_s[stage];
    }
  }
  line.makespan_s = *std::max_element(free_s.begin(), free_s.end());
  return line;
}

}  // namespace lockstep::sim::split
