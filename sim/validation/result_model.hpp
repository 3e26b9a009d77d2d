#pragma once
// Declares the parts of task_of(); only sim/validation includes it.
#include "sim/validation/result_task.hpp"

namespace lockstep::sim::validation {

/// A published result for which a task is being made.
struct ResultModel : StackModel {
  const Record& record;
  const std::vector<Record>& given;
  const MapOptions& map_options;
  QuantityTask& task;

  Metric metric() const { return record.measure.metric; }
  /// Lists a given result as an input.
  void use(const Record& other);
};

/// Adds facts that the record's experiment gives: rates measured on the same work, and epochs.
Record with_experiment(const Record& record, const std::vector<Record>& given, const Catalogue& catalogue);

/// Returns the FLOP per sample and GPU as the record's metric counts them.
double counted_flop(ResultModel& m);
/// Sets QuantityTask::per_si, once the task is complete.
void set_unit(ResultModel& m);

/// Sets the task for iterations to converge, critical batches, arrival times or staleness.
void set_workers_task(ResultModel& m);
/// Sets the task for staleness, which is simulated.
void set_staleness_task(ResultModel& m);
/// Sets the task for best groups, needed bandwidths and traffic, or gains of rarer synchronisation.
void set_choice_task(ResultModel& m);

}  // namespace lockstep::sim::validation
