#pragma once
// Writes a job as a scenario file (sim/scenario/README.md) that the user can read, change, simulate by messages and use
// in plans. Values keep the kind and the source that they had in the prediction.
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Returns a scenario that predicts the job's samples/s, efficiency, training time and their intervals on all its
/// numbers of GPUs. Throws InputError for one GPU, and for values that no scenario may have, such as nodes of 200 GPUs.
Json job_scenario(const JobPrediction& predicted, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
