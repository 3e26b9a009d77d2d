#pragma once
// Predicts a training job from its facts, with constants fitted to published results and calibrated intervals. Facts that
// are not given are assumed, and listed.
//
// One scenario serves all numbers of GPUs. Its cluster, software and exchange are those of the largest number.
// `simulate` and `plan` make the same prediction from that scenario.
#include <optional>
#include <string>
#include <vector>

#include "sim/job_prediction/job_question.hpp"
#include "sim/loss/loss_profile.hpp"
#include "sim/point/best_splits.hpp"
#include "sim/quantity/quantity_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Contains the predictions at one number of GPUs.
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

/// A number of GPUs that has no answer: the job does not fit into their memory, or cannot run on this number.
struct RefusedGpus {
  int gpus = 0;
  std::string why;
  std::string status = kDoesNotFit;
};

struct [[nodiscard]] JobPrediction {
  JobQuestion question;                   ///< with a searched split if prepare_job() found that no GPU holds the model
  Job job;                                ///< resolve_job()
  Scenario scenario;                      ///< serves all numbers of GPUs
  IntervalCalibration of_whole_training;  ///< interval of a training's calendar time
  std::optional<JobLoss> loss;            ///< none: the model or the task has no law of the loss
  std::vector<JobRow> rows;               ///< in the order of the question's numbers of GPUs
  std::vector<RefusedGpus> refused;       ///< requested numbers of GPUs that were removed from the question
  SplitQuestion split;                    ///< keys of the split that the search may choose, if there is a search
  std::vector<SplitRanking>
      rankings;  ///< of each number of GPUs, where splits are searched; `scenario` has the largest's

  const JobRow& largest() const;
  std::vector<const QuantityTask*> tasks() const;
};

/// Makes the job's scenario and the tasks of its rows; nothing is timed yet. If no GPU holds a transformer and the job
/// gives neither split, batch nor algorithm, it gets a searched split. Throws the errors of predict_job(), except that
/// memory is not checked.
JobPrediction prepare_job(const JobQuestion& question, const Catalogue& catalogue);

/// Samples/s, efficiency and, with epochs or samples, the training time at every number of GPUs. Throws InputError for a name
/// that is not known, facts that contradict each other, and jobs that no number of GPUs can run; single numbers that cannot
/// are `refused`.
JobPrediction predict_job(const JobQuestion& question, const Catalogue& catalogue, int jobs);

/// The assumptions of these tasks without duplicates, in their order, and which of them are defaults.
Inputs merge_inputs(const std::vector<const QuantityTask*>& tasks);

/// Lines such as `precision mixed (not stated; usual for H100 SXM5)`: the defaults that the job fell back to, its
/// algorithm and its software. `inputs` has all other assumptions, too.
std::vector<std::string> assumed_lines(const Inputs& inputs);

/// The default global batch at the largest number of GPUs, if the job gives none and the default depends on that
/// number; else 0.
std::int64_t assumed_global_batch(const JobPrediction& predicted);

/// "90 epochs", or "5M samples" of a model that does not train on tokens.
std::string training_name(const JobQuestion& question);

/// A line that says how the training time follows from the iterations; empty if no training was asked for.
std::string training_text(const Inputs& inputs);

/// A table: how the job was understood, a row per number of GPUs, and the assumptions.
std::string job_table(const JobPrediction& predicted, const Catalogue& catalogue);

/// The predictions in the format of `simulate --predict`, and how the job was understood under "read".
Json job_json(const JobPrediction& predicted, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
