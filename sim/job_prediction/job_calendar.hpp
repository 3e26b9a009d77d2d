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

/// Returns none for at most kUndisturbedGpus GPUs, or if the question leaves interruptions out. For models of text, published whole trainings determine the width of the interval (whole_training_class()).
std::optional<CalendarTime> calendar_time(const JobPrediction& predicted, const Scenario& scenario, int gpus,
                                          double iteration_s, const TrainingTime& training);
/// The 80 % interval of a whole training's calendar time, relative to the predicted time. It comes from the errors of
/// predictions of published trainings.
struct CalendarInterval {
  double low = 1, high = 1;
};
CalendarInterval calendar_interval(const JobPrediction& predicted);

/// Returns the seconds of an iteration at a predicted rate.
double iteration_s(const QuantityPrediction& samples_per_s);

/// True if at least one number of GPUs is so large that interruptions are expected. Its row then has a calendar time.
bool has_calendar(const JobQuestion& question);
/// Returns the names of the table's columns. calendar_cells() returns the cells of a row; without a calendar time, they
/// repeat the training time.
std::vector<std::string> calendar_names();
std::vector<std::string> calendar_cells(const std::optional<CalendarTime>& time, const TrainingTime& training);
/// Adds "calendar_s", "calendar_s_low", "calendar_s_high" and "interruptions" to `json`.
void add_calendar(const std::optional<CalendarTime>& time, Json& json);
/// Returns lines that name the rates of interruptions, and training_over_fastest(), which is not part of the time.
std::string calendar_text(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
