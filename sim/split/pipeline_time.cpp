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
    for (std::vector<double>& ends : ends_) ends.assign(passes, kNotYet);
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
  double& end_of(Pass pass, int part, int micro_batch) {
    return ends_[static_cast<std::size_t>(pass)]
                [to_index(part) * to_index(shape_.micro_batches) + to_index(micro_batch)];
  }

  // When the pass of another part is known here; kNotYet before it has ended.
  double arrival(Pass pass, int part, int micro_batch) {
    const double end = end_of(pass, part, micro_batch);
    return end == kNotYet || shape_.stages == 1 ? end : end + times_.message_s;
  }

  // When all that the op needs is there; kNotYet when something is missing.
  double ready(const PipelineOp& op, int part, int stage) {
    const int last = shape_.stages * shape_.chunks - 1;
    if (op.pass == Pass::forward) {
      const double released = times_.release_s.empty() ? 0 : times_.release_s[to_index(stage)][to_index(op.chunk)];
      const double arrived = part == 0 ? 0 : arrival(Pass::forward, part - 1, op.micro_batch);
      return arrived == kNotYet ? kNotYet : std::max(released, arrived);
    }
    if (op.pass == Pass::weight_gradient) return end_of(Pass::backward, part, op.micro_batch);
    const double own = end_of(Pass::forward, part, op.micro_batch);
    if (own == kNotYet || part == last) return own;
    const double from_above = arrival(Pass::backward, part + 1, op.micro_batch);
    return from_above == kNotYet ? kNotYet : std::max(own, from_above);
  }

  double seconds(const PipelineOp& op, int stage) const {
    const ChunkTimes& times = times_.chunks[to_index(stage)][to_index(op.chunk)];
    switch (op.pass) {
      case Pass::forward:
        return times.forward_s;
      case Pass::backward:
        return times.backward_s;
      case Pass::weight_gradient:
        return times.weight_gradient_s;
    }
    throw std::logic_error("a pass without a time");
  }

  bool try_next(int stage) {
    const PipelineOp& op = stages_[to_index(stage)][next_[to_index(stage)]];
    const int part = op.chunk * shape_.stages + stage;
    const double ready_s = ready(op, part, stage);
    if (ready_s == kNotYet) return false;
    const double start_s = std::max(ready_s, free_s_[to_index(stage)]);
    const double spent_s = seconds(op, stage);
    end_of(op.pass, part, op.micro_batch) = free_s_[to_index(stage)] = start_s + spent_s;
    result_.starts_s[to_index(stage)].push_back(start_s);
    result_.busy_s[to_index(stage)] += spent_s;
    ++next_[to_index(stage)];
    return true;
  }

  const std::vector<StageOps>& stages_;
  const PipelineShape shape_;
  const PipelineTimes& times_;
  std::vector<double> ends_[3];  // by pass: [part * m + micro-batch]
  std::vector<std::size_t> next_;
  std::vector<double> free_s_;
  PipelineTimeline result_;
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

PipelineTimeline timeline(const std::vector<StageOps>& stages, const PipelineShape& shape, const PipelineTimes& times) {
  return Evaluation(stages, shape, times).run();
}

}  // namespace lockstep::sim::split
