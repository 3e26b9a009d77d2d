#pragma once
// Declares the parts of task_of(), for use inside sim/validation only.
#include "sim/validation/result_task.hpp"

namespace lockstep::sim::validation {

/// A published result while its task is made.
struct ResultModel : StackModel {
  const Record& record;
  const std::vector<Record>& given;
  const MapOptions& map_options;
  QuantityTask& task;

  Metric metric() const { return record.measure.metric; }
  /// Lists a given result as an input.
  void use(const Record& other);
};

/// The record with what its experiment gives: measured runs of the same work, and epochs.
Record with_experiment(const Record& record, const std::vector<Record>& given, const Catalogue& catalogue);

/// Operations of a sample on one of the job's GPUs, as its metric counts them.
double counted_flop(ResultModel& m);
/// Sets QuantityTask::per_si, once the task is complete.
void set_unit(ResultModel& m);

/// Iterations to converge, critical batches, arrival times, staleness.
void set_workers_task(ResultModel& m);
/// The part of set_workers_task() that needs a simulation: staleness.
void set_staleness_task(ResultModel& m);
/// Best groups, needed bandwidths, gains of rarer synchronisation.
void set_choice_task(ResultModel& m);

}  // namespace lockstep::sim::validation
