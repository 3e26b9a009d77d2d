#pragma once
// Jobs whose split is searched: the search, its answer, and when a job is searched without asking for it.
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Sets `rankings`, and the fastest split of the largest number of GPUs in `scenario`, which has the global batch. The keys
/// of the split that the job gives stay. Throws InputError, which names the number of GPUs.
void search_splits(const JobQuestion& question, JobPrediction& predicted);

/// The job's scenario at one of its numbers of GPUs: with that number's own split where they are searched.
Scenario scenario_at(const JobPrediction& predicted, int gpus);

/// A job of a transformer that gives neither split nor batch nor algorithm, and whose replica no GPU holds: with a searched
/// split. Any other question as it is. Throws InputError as prepare_job() does.
JobQuestion with_search_where_needed(const JobQuestion& question, const Catalogue& catalogue);

/// A line, or with `lists_splits` the ranking, for each number of GPUs; empty where none is searched.
std::string job_splits_text(const JobQuestion& question, const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
