#pragma once
// Makes a job's tasks and its scenario on its largest number of GPUs, before splits are searched and rows are made.
#include <optional>
#include <string>

#include "sim/job_prediction/job_question.hpp"
#include "sim/quantity/quantity_task.hpp"

namespace lockstep::sim::job_prediction {

/// A question, and how it is predicted on its largest number of GPUs. If `why_whole` is set, only `question` and `job`
/// are valid.
struct [[nodiscard]] JobDraft {
  JobQuestion question;   ///< with the rest of a partly given split searched
  Job job;                ///< from resolve_job()
  std::string why_whole;  ///< why the model cannot be split, if a split is given or searched; empty: it can
  QuantityTask samples_per_s, efficiency;
  std::optional<QuantityTask> training;
  SplitQuestion split;                     ///< used if the split is searched
  std::optional<Assumption> over_fastest;  ///< for a searched split: training_over_fastest()
  Scenario scenario;                       ///< for all numbers of GPUs
};

/// Looks up the job's names, makes its tasks and its scenario. Throws InputError if the job is impossible.
JobDraft draft_job(const JobQuestion& question, const Catalogue& catalogue);

/// Returns a changed question if the split must be searched, or if replicas must be whole because the model cannot be
/// split or no batch fits. Returns none if the draft is final.
std::optional<JobQuestion> decide_replicas(const JobDraft& draft, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
