#pragma once
// Predicts a training job from its facts, with constants fitted to published results and calibrated intervals. Facts
// that are not given are assumed, and listed.
//
// One scenario serves all numbers of GPUs. Its cluster, software and exchange are those of the largest number. Some
// numbers of GPUs have a scenario of their own (own_scenarios.hpp), so that no answer depends on the other numbers in
// the list. `simulate` and `plan` make the same prediction from these scenarios.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/job_prediction/job_question.hpp"
#include "sim/loss/loss_profile.hpp"
#include "sim/point/best_splits.hpp"
#include "sim/quantity/quantity_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// A stage of a training whose batch grows to the global batch (--batch-ramp).
struct BatchStage {
  double until_tokens = 0;  ///< tokens of the whole training at its end
  std::int64_t global_batch = 0;
  double iteration_s = 0;
  bool is_interpolated = false;  ///< the split cannot run this batch
};

/// Holds the predictions for one number of GPUs.
struct JobRow {
  int gpus = 0;
  std::vector<BatchStage> ramp{};  ///< of --batch-ramp
  QuantityPrediction samples_per_s;
  QuantityPrediction efficiency;               ///< relative to JobQuestion::baseline_gpus()
  std::optional<QuantityPrediction> training;  ///< time of the job's epochs in seconds, if it has some
};

/// The law of the loss that a job's answers use, and the job's model with parameters counted as for the law.
struct JobLoss {
  LossLaw law;
  LossModel model;
};

/// A number of GPUs without an answer, because the job does not fit into their memory or cannot run on this number.
struct RefusedGpus {
  int gpus = 0;
  std::string why;
  AnswerStatus status = AnswerStatus::does_not_fit;
};

struct [[nodiscard]] JobPrediction {
  JobQuestion question;                    ///< with a searched split if prepare_job() found that no GPU holds the model
  Job job;                                 ///< from resolve_job()
  Scenario scenario;                       ///< serves all numbers of GPUs, except those of `own_scenarios`
  IntervalCalibration of_whole_training;   ///< interval of a training's calendar time
  std::optional<Assumption> over_fastest;  ///< for a searched split: training_over_fastest()
  std::optional<JobLoss> loss;             ///< none: the model or the task has no law of the loss
  std::vector<JobRow> rows;                ///< in the order of the question's numbers of GPUs
  std::vector<RefusedGpus> refused;        ///< requested numbers of GPUs that were removed from the question
  SplitQuestion split;                     ///< keys of the split that the search may choose
  std::vector<SplitRanking>
      rankings;  ///< for each number of GPUs, if splits are searched; `scenario` has the split of the largest
  std::vector<JobPrediction> own_scenarios;  ///< numbers of GPUs with another scenario; these have none themselves

  const JobRow& largest() const;
  std::vector<const QuantityTask*> tasks() const;
};

/// Makes the job's scenario and the tasks of its rows, without timing them. If no GPU can hold a transformer and the
/// job gives neither split, batch nor algorithm, it gets a searched split. Throws the errors of predict_job(), but does
/// not check memory.
JobPrediction prepare_job(const JobQuestion& question, const Catalogue& catalogue);

/// Predicts samples/s, efficiency and, with epochs or samples, the training time, for every number of GPUs. Throws
/// InputError for unknown names, for contradicting facts, and for jobs that no number of GPUs can run. If only some
/// numbers cannot run it, they are `refused`.
JobPrediction predict_job(const JobQuestion& question, const Catalogue& catalogue, int jobs,
                          JitterCache* jitter = nullptr);

/// Returns the assumptions of these tasks in order, without duplicates, and which of them are defaults.
Inputs merge_inputs(const std::vector<const QuantityTask*>& tasks);

/// Returns the job's defaults, algorithm and software, in lines such as `precision mixed (not stated; usual for H100
/// SXM5)`. `inputs` also has all other assumptions. `lists_batch`: whether a default global batch is among the lines.
std::vector<std::string> assumed_lines(const Inputs& inputs, bool lists_batch = true);

/// Returns the default global batch on the largest number of GPUs, if the job gives none and the default depends on
/// that number; else 0.
std::int64_t assumed_global_batch(const JobPrediction& predicted);

/// Returns "90 epochs", or "5M samples" for a model that does not train on tokens.
std::string training_name(const JobQuestion& question);

/// Returns a line that derives the training time from the iterations; empty if no training is requested.
std::string training_text(const Inputs& inputs);

/// Writes how the job was understood, a row per number of GPUs, and the assumptions.
std::string job_table(const JobPrediction& predicted, const Catalogue& catalogue);

/// Writes the predictions in the format of `simulate --predict`, and how the job was understood under "read".
Json job_json(const JobPrediction& predicted, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
