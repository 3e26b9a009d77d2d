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
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
      for (int stage = 0; stage < shape.stages; ++stage) {
        before_.push_back(neighbour_of(shape.before({stage, chunk}), stage));
        next_chunk_.push_back(neighbour_of(shape.next({stage, chunk}), stage));
      }
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
  // Names the chunk before or after another one.
  struct Neighbour {
    bool is_there = false;  // false: the model ends here
    bool has_message = false;
    std::size_t first_pass = 0;  // its first micro-batch's, in forwards_ and backwards_
  };

  std::size_t chunk_index(int stage, int chunk) const { return to_index(chunk * shape_.stages + stage); }
  std::size_t first_pass(int stage, int chunk) const {
    return chunk_index(stage, chunk) * to_index(shape_.micro_batches);
  }
  Neighbour neighbour_of(const std::optional<ChunkPlace>& place, int stage) const {
    if (!place) return {};
    return {true, place->stage != stage, first_pass(place->stage, place->chunk)};
  }

  // Makes the step wait for the pass of another chunk. Returns true if that pass has a step, or if there is no such
  // chunk.
  static bool wait_for(const std::vector<int>& steps, const Neighbour& from, int micro_batch, PipelineStep& step) {
    if (!from.is_there) return true;
    step.arrives_from = steps[from.first_pass + to_index(micro_batch)];
    step.has_message = from.has_message;
    return step.arrives_from != kNoStep;
  }

  // Returns true if all passes on which the op depends have steps.
  bool wait_for_all(const PipelineOp& op, int stage, PipelineStep& step) const {
    const std::size_t chunk = chunk_index(stage, op.chunk);
    if (op.pass == Pass::forward) {
      step.is_released = true;
      return wait_for(forwards_, before_[chunk], op.micro_batch, step);
    }
    const std::vector<int>& own = op.pass == Pass::weight_gradient ? backwards_ : forwards_;
    step.own = own[first_pass(stage, op.chunk) + to_index(op.micro_batch)];
    if (step.own == kNoStep || op.pass == Pass::weight_gradient) return step.own != kNoStep;
    return wait_for(backwards_, next_chunk_[chunk], op.micro_batch, step);
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
      if (!wait_for_all(op, stage, found[i])) return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const PipelineOp& op = ops[first + i];
      if (op.pass != Pass::weight_gradient)
        (op.pass == Pass::forward ? forwards_ : backwards_)[first_pass(stage, op.chunk) + to_index(op.micro_batch)] =
            static_cast<int>(steps_.size());
      steps_.push_back(found[i]);
    }
    next_[to_index(stage)] += count;
    return true;
  }

  const std::vector<StageOps>& stages_;
  const PipelineShape& shape_;
  std::vector<PipelineStep>& steps_;
  std::vector<int> forwards_, backwards_;       // steps of passes: [(chunk * p + stage) * m + micro-batch]
  std::vector<Neighbour> before_, next_chunk_;  // [chunk * p + stage]
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

// Forgets all orders before they need more than about 100 MB.
std::shared_ptr<const PipelineOrder> PipelineOrders::at(PipelineSchedule schedule, const PipelineShape& shape) {
  constexpr double kMostPasses = 2e6;
  std::shared_ptr<const PipelineOrder>& known =
      all_[{schedule, shape.stages, shape.micro_batches, shape.chunks, shape.order}];
  if (known) return known;
  const auto made = std::make_shared<const PipelineOrder>(pipeline_ops(schedule, shape), shape);
  passes_ += 2.0 * shape.stages * shape.micro_batches * shape.chunks;
  known = made;
  if (passes_ > kMostPasses) {
    all_.clear();
    passes_ = 0;
  }
  return made;
}

namespace {

constexpr std::array kPasses{Pass::forward, Pass::backward, Pass::input_gradient, Pass::weight_gradient};

// Seconds of every pass: [stage][chunk][pass], in one row.
class PassTimes {
 public:
  explicit PassTimes(const std::vector<std::vector<ChunkTimes>>& stages) : chunks_(stages.front().size()) {
    for (const std::vector<ChunkTimes>& chunks : stages)
      for (const ChunkTimes& chunk : chunks)
        for (const Pass pass : kPasses) seconds_.push_back(chunk.of(pass));
  }
  double of(const PipelineStep& step) const {
    return seconds_[(to_index(step.stage) * chunks_ + to_index(step.chunk)) * kPasses.size() +
                    static_cast<std::size_t>(step.pass)];
  }

 private:
  std::size_t chunks_;
  std::vector<double> seconds_;
};

}  // namespace

PipelineTimeline PipelineOrder::run(const PipelineTimes& times) const {
  PipelineTimeline line;
  line.busy_s.assign(stages_.size(), 0);
  line.starts_s.resize(stages_.size());
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) line.starts_s[stage].reserve(stages_[stage].size());
  const PassTimes passes(times.chunks);
  const bool has_releases = !times.release_s.empty();
  std::vector<double> free_s(stages_.size(), 0), ends_s(steps_.size() + 1, 0);
  double* end_of = ends_s.data() + 1;  // end_of[kNoStep] is 0
  for (std::size_t first = 0; first < steps_.size();) {
    const std::size_t end = first + (steps_[first].is_beside_next ? 2 : 1);
    const std::size_t stage = to_index(steps_[first].stage);
    double start_s = free_s[stage], spent_s = 0;
    for (std::size_t i = first; i < end; ++i) {
      const PipelineStep& step = steps_[i];
      if (has_releases && step.is_released) start_s = std::max(start_s, times.release_s[stage][to_index(step.chunk)]);
      start_s = std::max(start_s, end_of[step.own]);
      start_s = std::max(start_s, end_of[step.arrives_from] + (step.has_message ? times.message_s : 0));
      spent_s += passes.of(step);
    }
    free_s[stage] = start_s + spent_s;
    line.busy_s[stage] += spent_s;
    for (; first < end; ++first) {
      line.starts_s[stage].push_back(start_s);
      start_s += passes.of(steps_[first]);
      end_of[first] = free_s[stage];
    }
  }
  line.makespan_s = *std::max_element(free_s.begin(), free_s.end());
  return line;
}

}  // namespace lockstep::sim::split
