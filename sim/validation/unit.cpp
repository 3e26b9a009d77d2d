// Converts the SI value of a task to the record's own unit.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/quantity/calendar.hpp"
#include "sim/validation/result_model.hpp"

namespace lockstep::sim::validation {
namespace {

double tokens_of(const ResultModel& m) {
  if (m.model == nullptr || m.model->tokens == 0)
    throw Unmapped{"metric " + in_quotes(m.record.metric) + ": the tokens of a sample of " + m.job.model.stated +
                   " are not known"};
  return m.model->tokens;
}

double samples_of_iteration(const ResultModel& m) {
  const Workload& run = m.task.target.front();
  return run.samples() * run.accumulation;
}

// Days and GPU hours of whole trainings include interruptions, as the calendar does.
void count_interruptions(ResultModel& m) {
  if (m.record.is_undisturbed) return;
  const Calendar calendar = calendar_of(m.task.target.front().scenario, m.job.gpus);
  for (const Assumption& input : calendar.inputs) m.task.assumptions.push_back(input);
  m.task.per_si /= calendar.goodput.share;
  if (m.job.gpus > kUndisturbedGpus) m.task.per_si *= training_over_fastest(m).value_or(1);
}

}  // namespace

void set_unit(ResultModel& m) {
  const Measure& measure = m.record.measure;
  m.task.per_si *= measure.per_si / (measure.is_per_gpu ? std::max(1, m.job.gpus) : 1);
  if (measure.counted == Counted::tokens) m.task.per_si *= tokens_of(m);
  if (is_of_flops(measure.metric)) m.task.per_si *= counted_flop(m);
  if (measure.counted == Counted::iterations) m.task.per_si /= m.task.target.front().samples();
  if (measure.tokens > 0)
    m.task.per_si *=
        measure.tokens / (tokens_of(m) * samples_of_iteration(m)) * (measure.is_of_all_gpus ? m.job.gpus : 1);
  if (measure.tokens > 0) count_interruptions(m);
}

}  // namespace lockstep::sim::validation
