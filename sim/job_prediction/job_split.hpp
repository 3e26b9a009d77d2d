#pragma once
// Jobs whose split is searched: the search and its answer.
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// No split of the job fits at this number of GPUs.
struct NoSplitOfJob {
  std::string why;
  int gpus = 0;
  bool exceeds_memory = false;  ///< splits divide model and batch, and none fits into memory
};

/// Sets `rankings`, and the fastest split of the largest number of GPUs in `scenario`, which has the global batch. The keys
/// of the split that the job gives stay. Throws NoSplitOfJob, and InputError with the number of GPUs.
void search_splits(JobPrediction& predicted);

/// The job's scenario at one of its numbers of GPUs: with that number's own split where they are searched.
Scenario scenario_at(const JobPrediction& predicted, int gpus);

/// A line, or with `lists_splits` the ranking, for each number of GPUs; empty where none is searched.
std::string job_splits_text(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
