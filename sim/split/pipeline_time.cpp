#include "sim/split/pipeline_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/base/index.hpp"

namespace lockstep::sim::split {
namespace {

constexpr int kNoStep = -1;  // the pass has no step yet, or waits for none
constexpr std::array kPasses{Pass::forward, Pass::backward, Pass::input_gradient, Pass::weight_gradient};
constexpr double kSameEnd = 1e-13;

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
      step.release = stage * shape_.chunks + op.chunk;
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
      found[i].pass = (stage * shape_.chunks + op.chunk) * static_cast<int>(kPasses.size()) + static_cast<int>(op.pass);
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
  repetition_ = find_repetition(steps_, shape);
}

namespace {

// Seconds of every pass: [stage][chunk][pass], in one row.
std::vector<double> seconds_of_passes(const std::vector<std::vector<ChunkTimes>>& stages) {
  std::vector<double> seconds;
  for (const std::vector<ChunkTimes>& chunks : stages)
    for (const ChunkTimes& chunk : chunks)
      for (const Pass pass : kPasses) seconds.push_back(chunk.of(pass));
  return seconds;
}

// Earliest starts in one row, after a 0 for steps that have none.
std::vector<double> releases_in_row(const PipelineTimes& times) {
  std::vector<double> row{0};
  for (const std::vector<double>& stage : times.release_s) row.insert(row.end(), stage.begin(), stage.end());
  if (times.release_s.empty()) row.resize(1 + times.chunks.size() * times.chunks.front().size(), 0);
  return row;
}

// Computes when steps start and end, in their order.
class Timing {
 public:
  Timing(const std::vector<StageOps>& stages, const std::vector<PipelineStep>& steps, const PipelineTimes& times)
      : steps_(steps),
        passes_(seconds_of_passes(times.chunks)),
        releases_(releases_in_row(times)),
        message_s_{0, times.message_s},
        free_s_(stages.size(), 0),
        ends_s_(steps.size() + 1, 0),
        end_of_(ends_s_.data() + 1),  // of kNoStep: 0
        started_(stages.size(), 0) {
    line_.busy_s.assign(stages.size(), 0);
    line_.starts_s.resize(stages.size());
    for (std::size_t stage = 0; stage < stages.size(); ++stage) line_.starts_s[stage].resize(stages[stage].size());
  }

  PipelineTimeline run() {
    run_up_to(steps_.size());
    return finish();
  }

  std::optional<PipelineTimeline> run_longer(const PipelineRepetition& repetition, int periods) {
    const std::size_t period = repetition.period;
    std::size_t check = repetition.first + period;
    while (check < repetition.reach + period) check += period;
    // After the check, a period has the last pass of every chunk.
    for (; check + period <= repetition.end; check += period) {
      run_up_to(check);
      const std::optional<double> seconds = seconds_of_period(repetition);
      if (!seconds) continue;
      for (std::size_t i = next_ - repetition.reach; i < next_; ++i) end_of_[i] += periods * *seconds;
      for (double& free_s : free_s_) free_s += periods * *seconds;
      for (std::size_t i = next_ - period; i < next_; ++i)
        line_.busy_s[to_index(steps_[i].stage)] += periods * passes_[to_index(steps_[i].pass)];
      run_up_to(steps_.size());
      return finish();
    }
    return std::nullopt;
  }

 private:
  double earliest_start_s(const PipelineStep& step) const {
    const double arrived_s = end_of_[step.arrives_from] + message_s_[step.has_message ? 1 : 0];
    return std::max(std::max(end_of_[step.own], arrived_s), releases_[static_cast<std::size_t>(step.release + 1)]);
  }

  void start(std::size_t stage, double start_s) { line_.starts_s[stage][started_[stage]++] = start_s; }

  // Two overlapped steps end together.
  void run_up_to(std::size_t end) {
    while (next_ < end) {
      const PipelineStep& step = steps_[next_];
      const std::size_t stage = to_index(step.stage);
      double start_s = std::max(free_s_[stage], earliest_start_s(step));
      double spent_s = passes_[to_index(step.pass)];
      if (step.is_beside_next) {
        const PipelineStep& other = steps_[next_ + 1];
        start_s = std::max(start_s, earliest_start_s(other));
        start(stage, start_s);
        start(stage, start_s + spent_s);
        spent_s += passes_[to_index(other.pass)];
        end_of_[next_++] = start_s + spent_s;
      } else {
        start(stage, start_s);
      }
      line_.busy_s[stage] += spent_s;
      free_s_[stage] = end_of_[next_++] = start_s + spent_s;
    }
  }

  // Returns by how much later than the last period the next one ends, if the last two periods tell it.
  std::optional<double> seconds_of_period(const PipelineRepetition& repetition) const {
    if (*std::min_element(free_s_.begin(), free_s_.end()) < *std::max_element(releases_.begin(), releases_.end()))
      return std::nullopt;
    const double seconds = end_of_[next_ - 1] - end_of_[next_ - 1 - repetition.period];
    for (std::size_t back = 1; back <= repetition.reach; ++back) {
      const double end_s = end_of_[next_ - back], before_s = end_of_[next_ - back - repetition.period];
      if (std::abs(end_s - before_s - seconds) > kSameEnd * end_s) return std::nullopt;
    }
    return seconds;
  }

  PipelineTimeline finish() {
    line_.makespan_s = *std::max_element(free_s_.begin(), free_s_.end());
    return std::move(line_);
  }

  const std::vector<PipelineStep>& steps_;
  std::vector<double> passes_, releases_;
  std::array<double, 2> message_s_;
  std::vector<double> free_s_, ends_s_;
  double* end_of_;
  std::vector<std::size_t> started_;  // ops of each stage
  std::size_t next_ = 0;              // step
  PipelineTimeline line_;
};

}  // namespace

PipelineTimeline PipelineOrder::run(const PipelineTimes& times) const {
  return Timing(stages_, steps_, times).run();
}

std::optional<PipelineTimeline> PipelineOrder::run_longer(const PipelineTimes& times, int more) const {
  if (repetition_.period == 0 || more % repetition_.micro_batches != 0) return std::nullopt;
  return Timing(stages_, steps_, times).run_longer(repetition_, more / repetition_.micro_batches);
}

}  // namespace lockstep::sim::split
