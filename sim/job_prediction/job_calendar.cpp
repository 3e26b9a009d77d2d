#include "sim/job_prediction/job_calendar.hpp"

#include <algorithm>

#include "engine/base/expected_count.hpp"
#include "engine/base/format_printf.hpp"
#include "sim/point/calibration.hpp"
#include "sim/quantity/calendar.hpp"
#include "sim/report/text_table.hpp"

namespace lockstep::sim::job_prediction {

std::optional<CalendarTime> calendar_time(const JobPrediction& predicted, const Scenario& scenario, int gpus,
                                          const TrainingTime& training) {
  if (!has_calendar(predicted.question)) return std::nullopt;
  const Calendar calendar = disturbed_calendar(scenario, gpus, predicted.question.storage);
  CalendarTime time;
  time.over_fastest = over_fastest(predicted);  // on every number of GPUs, so that rows compare
  const double share = calendar.goodput.share / time.over_fastest;
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

double over_fastest(const JobPrediction& predicted) {
  return predicted.over_fastest ? predicted.over_fastest->value.get<double>() : 1;
}

bool has_calendar(const JobQuestion& question) {
  return !question.is_undisturbed && question.largest() > kUndisturbedGpus;
}

std::vector<std::string> calendar_names() {
  return {"calendar", "low", "high", "interruptions"};
}

std::vector<std::string> calendar_cells(const std::optional<CalendarTime>& time) {
  if (!time) return {"", "", "", ""};
  return {duration_text(time->seconds), duration_text(time->low_s), duration_text(time->high_s),
          expected_count_text(time->interruptions)};
}

void add_calendar(const std::optional<CalendarTime>& time, Json& json) {
  if (!time) return;
  json["calendar_s"] = time->seconds;
  json["calendar_s_low"] = time->low_s;
  json["calendar_s_high"] = time->high_s;
  json["interruptions"] = time->interruptions;
  if (time->over_fastest != 1) json["calendar_over_fastest"] = time->over_fastest;
}

std::string calendar_text(const JobPrediction& predicted) {
  const Calendar calendar = calendar_of(Scenario(), kUndisturbedGpus + 1);
  std::string rates;
  for (const Assumption& input : calendar.inputs)
    if (input.kind == "published") rates += (rates.empty() ? "" : "; ") + input.source;
  const std::string& storage = predicted.question.storage;
  const std::string text = "Calendar: with interruptions, restarts and checkpoints (" + rates + ")" +
                           (storage.empty() ? "" : ", storage of " + storage) + "; --no-failures leaves them out.\n";
  if (!predicted.over_fastest) return text;
  return text + "It includes a factor of " + formatted("%.2f", over_fastest(predicted)) +
         ": published trainings whose split is not known took that much longer than with the fastest\nsplit (" +
         predicted.over_fastest->kind + ": " + predicted.over_fastest->source +
         "). A given split (--tensor, --pipeline) leaves it out.\n";
}

}  // namespace lockstep::sim::job_prediction
