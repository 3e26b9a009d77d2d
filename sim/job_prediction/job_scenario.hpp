#pragma once
// A job in words as a scenario file (sim/scenario/README.md): to look at, to change, to simulate by messages, and to
// plan with. Values carry the kind and the source that they had in the prediction.
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// The job's own scenario, which gives the job's samples/s, efficiency and training time, and their bounds, at all its
/// numbers of GPUs. Throws InputError for one GPU alone, and for what a scenario cannot have, such as nodes of 200 GPUs.
Json job_scenario(const JobPrediction& predicted, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
