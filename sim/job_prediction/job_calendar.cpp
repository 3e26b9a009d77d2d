#include "sim/job_prediction/job_calendar.hpp"

#include <algorithm>

#include "engine/base/expected_count.hpp"
#include "engine/base/format_printf.hpp"
#include "sim/point/calibration.hpp"
#include "sim/quantity/calendar.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim::job_prediction {

std::optional<CalendarTime> calendar_time(const JobPrediction& predicted, const Scenario& scenario, int gpus,
                                          double iteration_s, const TrainingTime& training) {
  if (predicted.question.is_undisturbed || gpus <= kUndisturbedGpus) return std::nullopt;
  const Calendar calendar = calendar_of(scenario, gpus, predicted.question.storage, iteration_s);
  CalendarTime time;
  const double share = calendar.goodput.share;
  time.seconds = training.seconds / share;
  time.low_s = training.low_s / share;
  time.high_s = training.high_s / share;
  if (scenario.model.tokens > 0) {
    const CalendarInterval interval = calendar_interval(predicted);
    time.low_s = std::min(time.low_s, time.seconds * interval.low);
    time.high_s = std::max(time.high_s, time.seconds * interval.high);
  }
  time.interruptions = time.seconds * calendar.interruptions_per_s;
  return time;
}

CalendarInterval calendar_interval(const JobPrediction& predicted) {
  return {1 / factor_below(predicted.of_whole_training, 0), factor_above(predicted.of_whole_training, 0)};
}

double iteration_s(const QuantityPrediction& samples_per_s) {
  const Workload& run = samples_per_s.task.target.front();
  return run.samples() * run.accumulation / samples_per_s.predicted;
}

bool has_calendar(const JobQuestion& question) {
  return !question.is_undisturbed && question.largest() > kUndisturbedGpus;
}

std::vector<std::string> calendar_names() {
  return {"calendar", "low", "high", "interruptions"};
}

std::vector<std::string> calendar_cells(const std::optional<CalendarTime>& time, const TrainingTime& training) {
  if (!time)
    return {duration_text(training.seconds), duration_text(training.low_s), duration_text(training.high_s), ""};
  return {duration_text(time->seconds), duration_text(time->low_s), duration_text(time->high_s),
          expected_count_text(time->interruptions)};
}

void add_calendar(const std::optional<CalendarTime>& time, Json& json) {
  if (!time) return;
  json["calendar_s"] = time->seconds;
  json["calendar_s_low"] = time->low_s;
  json["calendar_s_high"] = time->high_s;
  json["interruptions"] = time->interruptions;
}

std::string calendar_text(const JobPrediction& predicted) {
  const Calendar calendar = calendar_of(Scenario(), kUndisturbedGpus + 1);
  std::string rates;
  for (const Assumption& input : calendar.inputs)
    if (input.kind == "published") rates += (rates.empty() ? "" : "; ") + input.source;
  const std::string& storage = predicted.question.storage;
  const std::vector<int>& gpus = predicted.question.gpus;
  const bool has_rows_without = *std::min_element(gpus.begin(), gpus.end()) <= kUndisturbedGpus;
  std::string text = "Calendar: with interruptions, restarts and checkpoints (" + rates + ")" +
                     (storage.empty() ? "" : ", storage of " + storage) + "; --no-failures leaves them out.\n";
  if (has_rows_without)
    text += "Up to " + std::to_string(kUndisturbedGpus) +
            " GPUs, interruptions are not counted: the training time is the calendar time.\n";
  if (!predicted.over_fastest || predicted.question.fitted_step) return text;
  return text + "Published trainings whose split is not known took " +
         formatted("%.2f", predicted.over_fastest->value.get<double>()) + " times as long as with the fastest split (" +
         predicted.over_fastest->kind +
         "). The calendar\ntime is that of the split shown, so it leaves this factor out.\n";
}

}  // namespace lockstep::sim::job_prediction
