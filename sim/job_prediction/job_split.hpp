#pragma once
// Searches the split of a job, and describes the result.
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Thrown if no split of the job fits at this number of GPUs.
struct NoSplitOfJob {
  std::string why;
  int gpus = 0;
  bool exceeds_memory = false;  ///< some splits divide model and batch, but none of them fits into memory
};

/// Fills `rankings`, and sets the split of `scenario` to the fastest at the largest number of GPUs, global batch
/// included. Keys of the split that the job gives stay as given. Throws NoSplitOfJob, and InputError with the number of
/// GPUs.
void search_splits(JobPrediction& predicted);

/// The job's scenario at one of its numbers of GPUs. If splits are searched, it has the split found for that number.
Scenario scenario_at(const JobPrediction& predicted, int gpus);

/// For each number of GPUs a line, or with `lists_splits` the ranking; empty if no split is searched.
std::string job_splits_text(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
