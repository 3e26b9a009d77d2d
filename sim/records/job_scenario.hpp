#pragma once
// A job in words as a scenario file (sim/scenario/README.md): to look at, to change, to simulate by messages, and to
// plan with. Values carry the kind and the source that they had in the prediction.
#include "sim/records/job.hpp"

namespace lockstep::sim {

/// Of the largest number of GPUs, for all of them: cluster, links' shares, overheads and the all-reduce are those that
/// the job has there. At that number the scenario's closed form gives the job's samples/s; its uncertainties are the
/// half width of the job's bounds, for each group of inputs, so that its bounds are at most as wide. Throws InputError
/// for one GPU alone, and for jobs that are not trained by all-reduces or sharded.
Json job_scenario(const Job& job, const JobPrediction& predicted);

}  // namespace lockstep::sim
