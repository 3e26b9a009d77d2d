#pragma once
// Of a job whose split is searched: the question, the answer, and when it is asked without being told to.
#include "sim/records/job.hpp"

namespace lockstep::sim {
inline namespace records {

/// Sets `rankings`, and the fastest split of the largest number of GPUs in `scenario`, which has the global batch. What the
/// job states of its split stays. Throws InputError, which names the number of GPUs.
void search_splits(const Job& job, JobPrediction& predicted);

/// The job's scenario at one of its numbers of GPUs: with that number's own split where they are searched.
Scenario scenario_at(const JobPrediction& predicted, int gpus);

/// Of a transformer that says neither split nor batch nor algorithm and of which no GPU holds a replica: with
/// `searches_split`. Else the job as it is. Throws InputError as read_job() does.
Job with_search_where_needed(const Job& job, const Catalogue& catalogue);

/// A line, or with `lists_splits` the ranking, for each number of GPUs; empty where none is searched.
std::string job_splits_text(const Job& job, const JobPrediction& predicted);

}  // namespace records
}  // namespace lockstep::sim
