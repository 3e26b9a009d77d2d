#pragma once
// The calendar time of a job's training (sim/quantity/calendar.hpp), for its tables and its JSON.
#include <string>
#include <vector>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

struct TrainingTime {
  double seconds = 0, low_s = 0, high_s = 0;
};

struct CalendarTime : TrainingTime {
  double interruptions = 0;
};

/// None if no number of GPUs of the question exceeds kUndisturbedGpus, or if the question leaves interruptions out. For
/// models of text, the width of the interval comes from published whole trainings (whole_training_class()).
std::optional<CalendarTime> calendar_time(const JobPrediction& predicted, const Scenario& scenario, int gpus,
                                          const TrainingTime& training);
/// The 80 % interval of a whole training's calendar time, relative to the predicted time. It comes from the errors of
/// predictions of published trainings.
struct CalendarInterval {
  double low = 1, high = 1;
};
CalendarInterval calendar_interval(const JobPrediction& predicted);

/// True if at least one number of GPUs is large enough to expect interruptions. Then every row has a calendar time.
bool has_calendar(const JobQuestion& question);
/// The names of the table's columns; calendar_cells() gives the cells of a row.
std::vector<std::string> calendar_names();
std::vector<std::string> calendar_cells(const std::optional<CalendarTime>& time);
/// Adds "calendar_s", "calendar_s_low", "calendar_s_high", "interruptions".
void add_calendar(const std::optional<CalendarTime>& time, Json& json);
/// A line that names the rates of interruptions used.
std::string calendar_text(const JobQuestion& question);

}  // namespace lockstep::sim::job_prediction
