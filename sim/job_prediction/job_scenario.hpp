#pragma once
// A job in words as a scenario file (sim/scenario/README.md): to look at, to change, to simulate by messages, and to
// plan with. Values carry the kind and the source that they had in the prediction.
#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// The job's own scenario, which gives the job's samples/s, efficiency and training time at all its numbers of GPUs. Its
/// uncertainties are the half width of the job's bounds at the largest, for each group of inputs, so that its bounds are
/// at most as wide. Throws InputError for one GPU alone, and for what a scenario cannot have, such as nodes of 200 GPUs.
Json job_scenario(const JobPrediction& predicted, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
