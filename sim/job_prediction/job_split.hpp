#pragma once
// Searches the split of a job, and describes the result.
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Thrown if no split of the job fits on this number of GPUs.
struct NoSplitOfJob {
  std::string why;
  int gpus = 0;
  bool exceeds_memory = false;  ///< some splits divide model and batch, but all of them exceed memory
};

/// Sets `rankings`, and sets the split of `scenario` to the fastest on the largest number of GPUs, with its global
/// batch. Keys of the split that the job gives stay as given. Throws NoSplitOfJob, and InputError with the number of
/// GPUs.
void search_splits(JobPrediction& predicted);

/// Returns the job's scenario on one of its numbers of GPUs, with the split found for it if splits are searched.
Scenario scenario_at(const JobPrediction& predicted, int gpus);

/// Returns a line for each number of GPUs, or with `lists_splits` the ranking; empty if no split is searched.
std::string job_splits_text(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
