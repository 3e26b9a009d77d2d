#pragma once
// Predicts a training job from its facts, with constants fitted to published results and calibrated intervals. Facts that
// are not given are assumed, and listed.
//
// One scenario serves all numbers of GPUs: one cluster, one software, one way to exchange, as they are at the largest
// number. `simulate` and `plan` make the same prediction from that scenario.
#include <optional>
#include <string>
#include <vector>

#include "sim/job_prediction/job_question.hpp"
#include "sim/loss/loss_profile.hpp"
#include "sim/point/best_splits.hpp"
#include "sim/quantity/quantity_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// At one number of GPUs.
struct JobRow {
  int gpus = 0;
  QuantityPrediction samples_per_s;
  QuantityPrediction efficiency;               ///< against JobQuestion::baseline_gpus()
  std::optional<QuantityPrediction> training;  ///< seconds of the job's epochs, if it has some
};

/// The law of the loss that the job's answers use, and its model as the law counts it.
struct JobLoss {
  LossLaw law;
  LossModel model;
};

/// Statuses of numbers of GPUs without an answer, as predictions of records have them.
inline constexpr const char *kDoesNotFit = "does-not-fit", *kUnmapped = "unmapped";

/// A number of GPUs that has no answer: the job does not fit into their memory, or cannot run on this number.
struct RefusedGpus {
  int gpus = 0;
  std::string why;
  std::string status = kDoesNotFit;
};

struct [[nodiscard]] JobPrediction {
  JobQuestion question;  ///< as asked; with a searched split where prepare_job() found that no GPU holds the model
  Job job;               ///< resolve_job()
  Scenario scenario;     ///< of all numbers of GPUs
  IntervalCalibration of_whole_training;  ///< of a training by the calendar
  std::optional<JobLoss> loss;            ///< none: the model or the task has no law of the loss
  std::vector<JobRow> rows;               ///< by the question's numbers of GPUs
  std::vector<RefusedGpus> refused;       ///< asked for, and no longer in the question
  SplitQuestion split;                    ///< which keys of the split the search may choose; used where it is searched
  std::vector<SplitRanking>
      rankings;  ///< of each number of GPUs, where splits are searched; `scenario` has the largest's

  const JobRow& largest() const;
  std::vector<const QuantityTask*> tasks() const;
};

/// Makes the job's scenario and the tasks of its rows; nothing is timed yet. A transformer that no GPU holds, in a job that
/// gives neither split nor batch nor algorithm, gets a searched split. Throws the errors of predict_job(), except that it does
/// not check memory.
JobPrediction prepare_job(const JobQuestion& question, const Catalogue& catalogue);

/// Samples/s, efficiency and, with epochs or samples, the training time at every number of GPUs. Throws InputError for a name
/// that is not known, facts that contradict each other, and jobs that no number of GPUs can run; single numbers that cannot
/// are `refused`.
JobPrediction predict_job(const JobQuestion& question, const Catalogue& catalogue, int jobs);

/// The assumptions of these tasks, each once, in their order, and which of them are defaults.
Inputs merge_inputs(const std::vector<const QuantityTask*>& tasks);

/// Lines such as "precision mixed (not stated; usual for H100 SXM5)": the defaults that the job fell back to, and its algorithm
/// and software. `inputs` has all others, too.
std::vector<std::string> assumed_lines(const Inputs& inputs);

/// The global batch of the largest number of GPUs, where the job gives none and it follows from that number; else 0.
std::int64_t assumed_global_batch(const JobPrediction& predicted);

/// "90 epochs", or "5M samples" of a model that does not train on tokens.
std::string training_name(const JobQuestion& question);

/// A line that says how the training time follows from the iterations; empty if no training was asked for.
std::string training_text(const Inputs& inputs);

/// The job as it was understood, a row per number of GPUs, and the assumptions.
std::string job_table(const JobPrediction& predicted, const Catalogue& catalogue);

/// The predictions as simulate --predict writes them, and the job as it was understood under "read".
Json job_json(const JobPrediction& predicted, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
