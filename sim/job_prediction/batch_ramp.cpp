#include "sim/job_prediction/batch_ramp.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/split/pipeline.hpp"

namespace lockstep::sim::job_prediction {
namespace {

constexpr const char* kOption = "--batch-ramp";
constexpr std::size_t kMostStages = 1024;

[[noreturn]] void refuse(const std::string& text, const std::string& wrong) {
  throw InputError(std::string(kOption) + " " + in_quotes(text) + ": " + wrong +
                   "; allowed: BATCH:UNTIL_TOKENS,... such as 512:252M,1024:2.87T, or START+STEP:TOKENS such as "
                   "32+32:12B");
}

// Returns the texts before and behind the first separator; none without one.
std::optional<std::pair<std::string, std::string>> halves_at(char separator, const std::string& text) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) return std::nullopt;
  return std::pair{text.substr(0, at), text.substr(at + 1)};
}

std::int64_t batch_of(const std::string& text, const std::string& all) {
  const std::optional<double> count = parse_count(text);
  if (!count || *count != std::floor(*count) || *count > double(kLargestGlobalBatch))
    refuse(all, in_quotes(text) + " is no batch");
  return static_cast<std::int64_t>(*count);
}

double tokens_of(const std::string& text, const std::string& all) {
  const std::optional<double> count = parse_count(text);
  if (!count) refuse(all, in_quotes(text) + " is no number of tokens");
  return *count;
}

// Each batch lasts equally long, as in Megatron-LM.
std::vector<BatchStage> rising_stages(std::int64_t start, std::int64_t step, double tokens, std::int64_t global_batch,
                                      const std::string& text) {
  if (start >= global_batch || (global_batch - start) % step != 0)
    refuse(text, "steps of " + std::to_string(step) + " do not lead from " + std::to_string(start) + " to " +
                     std::to_string(global_batch));
  const std::int64_t steps = (global_batch - start) / step;
  if (steps > static_cast<std::int64_t>(kMostStages))
    refuse(text, "more than " + std::to_string(kMostStages) + " steps");
  std::vector<BatchStage> stages;
  for (std::int64_t i = 0; i < steps; ++i) stages.push_back({tokens * double(i + 1) / double(steps), start + i * step});
  return stages;
}

// Batches near `batch` are multiples of the returned number.
std::int64_t batch_step(const Workload& run, std::int64_t batch) {
  if (run.scenario.parallel) {
    const ParallelSpec spec = run.scenario.parallel_at(run.gpus);
    return std::int64_t{spec.micro_batch} * spec.data;
  }
  const std::int64_t without_accumulation = std::int64_t{run.gpus} * run.batch_per_gpu;
  return batch < without_accumulation ? run.gpus : without_accumulation;
}

// The iteration of the row with another global batch. Replicas accumulate fewer micro-batches, or get smaller ones.
Workload with_batch(const Workload& run, std::int64_t batch) {
  Workload other = run;
  other.label = 0;  // no other workload takes the same time
  if (run.scenario.parallel) {
    other.scenario.parallel->global_batch = static_cast<int>(batch);
    other.scenario.parallel->micro_batches = 0;
    return other;
  }
  const std::int64_t of_gpu = batch / run.gpus;
  other.batch_per_gpu = static_cast<int>(std::min<std::int64_t>(of_gpu, run.batch_per_gpu));
  other.accumulation = static_cast<int>(of_gpu / other.batch_per_gpu);
  other.scenario.batch = {{kMostGpus, other.batch_per_gpu}};
  if (run.scenario.communication.accumulation == run.accumulation)
    other.scenario.communication.accumulation = other.accumulation;
  return other;
}

bool can_run(const Workload& run, std::int64_t batch) {
  if (batch <= 0 || batch % batch_step(run, batch) != 0) return false;
  if (!run.scenario.parallel) return true;
  try {
    const Workload other = with_batch(run, batch);
    check(other.scenario);
    const ParallelSpec spec = other.scenario.parallel_at(run.gpus);
    (void)stage_ops(schedule_of_pipeline(spec), pipeline_shape(spec, micro_batches(spec, static_cast<int>(batch))), 0);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// Two batches that the split can run, by which the time of `batch` is estimated. They are equal if it can run it.
struct Neighbours {
  std::int64_t lower = 0, upper = 0;
};

// Below the smallest batch that can run, the two smallest ones.
Neighbours neighbours_of(const Workload& run, std::int64_t batch) {
  if (can_run(run, batch)) return {batch, batch};
  const std::int64_t step = batch_step(run, batch);
  constexpr int kMostSteps = 1 << 14;
  const auto next_after = [&](std::int64_t from) {
    for (int i = 1; i <= kMostSteps; ++i)
      if (can_run(run, from + i * step)) return from + i * step;
    throw InputError(std::string(kOption) + ": the split can run no batch near " + std::to_string(batch) +
                     "; allowed: batches that its schedule can run");
  };
  const std::int64_t below = batch / step * step;
  std::int64_t lower = below;
  while (lower > 0 && !can_run(run, lower)) lower -= step;
  const std::int64_t upper = next_after(below);
  return lower > 0 ? Neighbours{lower, upper} : Neighbours{upper, next_after(upper)};
}

// Times iterations of the batches that a row's ramp needs.
class RampTimes {
 public:
  RampTimes(const Workload& run, const std::vector<BatchStage>& ramp, const TimingOptions& timing) {
    std::vector<Workload> runs{run};
    for (const BatchStage& stage : ramp) {
      const Neighbours near = near_.emplace(stage.global_batch, neighbours_of(run, stage.global_batch)).first->second;
      for (const std::int64_t batch : {near.lower, near.upper})
        if (places_.emplace(batch, runs.size()).second) runs.push_back(with_batch(run, batch));
    }
    std::vector<const Workload*> all;
    for (const Workload& one : runs) all.push_back(&one);
    times_ = time_workloads(all, {timing.jobs, false, timing.jitter});
    for (const WorkloadTime& time : times_)
      if (!time.failure.empty()) throw InputError(std::string(kOption) + ": " + time.failure);
  }

  bool is_estimated(std::int64_t batch) const { return near_.at(batch).lower != near_.at(batch).upper; }

  // Returns the time with `batch`, relative to the job's batch. A line through the neighbours estimates it: each
  // micro-batch adds the same time.
  double relative_time(std::int64_t batch) const {
    const Neighbours near = near_.at(batch);
    const double lower_s = seconds(near.lower), upper_s = seconds(near.upper);
    const double share = near.lower == near.upper ? 0 : double(batch - near.lower) / double(near.upper - near.lower);
    return (lower_s + share * (upper_s - lower_s)) / times_.front().seconds;
  }

 private:
  double seconds(std::int64_t batch) const { return times_[places_.at(batch)].seconds; }

  std::map<std::int64_t, Neighbours> near_;     // of each batch of the ramp
  std::map<std::int64_t, std::size_t> places_;  // in times_
  std::vector<WorkloadTime> times_;             // the job's own batch first
};

// The stages as the law of the loss takes them.
std::vector<BatchStageTokens> stages_in_tokens(const JobPrediction& predicted, const JobRow& row) {
  std::vector<BatchStageTokens> stages;
  for (const BatchStage& stage : row.ramp)
    stages.push_back({stage.until_tokens, double(stage.global_batch) * predicted.scenario.model.tokens});
  return stages;
}

}  // namespace

std::vector<BatchStage> read_batch_ramp(const std::string& text, std::int64_t global_batch) {
  const std::vector<std::string> parts = csv_cells(text);
  std::vector<BatchStage> stages;
  for (const std::string& part : parts) {
    const auto ends = halves_at(':', part);
    if (!ends) refuse(text, in_quotes(part) + " has no colon");
    const double tokens = tokens_of(ends->second, text);
    if (const auto rise = halves_at('+', ends->first)) {
      if (parts.size() > 1) refuse(text, "steps and single batches together");
      return rising_stages(batch_of(rise->first, text), batch_of(rise->second, text), tokens, global_batch, text);
    }
    stages.push_back({tokens, batch_of(ends->first, text)});
    if (stages.back().global_batch > global_batch)
      refuse(text, "a batch of " + ends->first + " is above the job's batch of " + std::to_string(global_batch) +
                       " (--global-batch), to which it leads");
    if (stages.size() > 1 && tokens <= stages[stages.size() - 2].until_tokens)
      refuse(text, "the numbers of tokens do not rise");
  }
  if (stages.size() > kMostStages) refuse(text, "more than " + std::to_string(kMostStages) + " stages");
  return stages;
}

void time_batch_ramp(JobPrediction& predicted, const TimingOptions& timing) {
  if (predicted.question.batch_ramp.empty()) return;
  for (JobRow& row : predicted.rows) {
    const Workload& run = row.samples_per_s.task.target.front();
    const double global_batch = run.samples() * run.accumulation;
    row.ramp = read_batch_ramp(predicted.question.batch_ramp, std::llround(global_batch));
    const RampTimes times(run, row.ramp, timing);
    const double iteration_s = global_batch / row.samples_per_s.predicted;
    for (BatchStage& stage : row.ramp) {
      stage.is_interpolated = times.is_estimated(stage.global_batch);
      stage.iteration_s = iteration_s * times.relative_time(stage.global_batch);
    }
  }
}

double batch_for_loss(const JobPrediction& predicted, const JobRow& row, double tokens, double batch_tokens) {
  if (row.ramp.empty()) return batch_tokens;
  const LossLaw& law = predicted.loss->law;
  const double minimal = minimal_tokens_of_ramp(law, stages_in_tokens(predicted, row), batch_tokens, tokens);
  return equivalent_batch(law, minimal, tokens);
}

BoundedValue tokens_with_ramp(const JobPrediction& predicted, const JobRow& row, double batch_tokens,
                              const BoundedValue& without_ramp) {
  if (row.ramp.empty()) return without_ramp;
  const LossLaw& law = predicted.loss->law;
  const double minimal = minimal_tokens_to(law, predicted.loss->model.parameters.middle, predicted.question.loss);
  const double factor =
      tokens_of_ramp(law, stages_in_tokens(predicted, row), batch_tokens, minimal) / without_ramp.middle;
  return {without_ramp.middle * factor, without_ramp.low * factor, without_ramp.high * factor};
}

double seconds_with_ramp(const JobRow& row, double samples, double global_batch, double iteration_s) {
  double trained = 0, seconds = 0;
  const auto train_until = [&](double until, double batch, double of_iteration_s) {
    if (trained >= samples) return;
    const double iterations = std::ceil((std::min(until, samples) - trained) / batch);
    if (iterations <= 0) return;
    seconds += iterations * of_iteration_s;
    trained += iterations * batch;
  };
  const double tokens = row.samples_per_s.task.target.front().scenario.model.tokens;
  for (const BatchStage& stage : row.ramp)
    train_until(stage.until_tokens / tokens, double(stage.global_batch), stage.iteration_s);
  train_until(samples, global_batch, iteration_s);
  return seconds;
}

}  // namespace lockstep::sim::job_prediction
