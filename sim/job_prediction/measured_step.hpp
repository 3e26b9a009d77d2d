#pragma once
// Uses a measured iteration (`--step-time`) to predict other numbers of GPUs, batches, networks and types of GPU.
//
//   time factor c:  T(measured job, all layers c times as long as the laws say) = measured time
//
// T is the predicted iteration. The measured job has the model, software, precision and given split of the requested
// job. In the requested job, all layers also take c times as long. Its communication is predicted as without a
// measurement, so time that the measured job lost to its network counts as computation.
//
// A searched split of the measured job is the fastest one under c. The interval is as wide as without a measurement.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// Adds `fitted_step` to the question, if it has a measured iteration. Throws InputError if the measured job cannot be
/// predicted, or if no factor from kLeastTimeFactor to kMostTimeFactor explains the measured time.
JobQuestion with_fitted_step(JobQuestion question, const Catalogue& catalogue);

/// Returns the line "Measured: 12.3 s an iteration on 8 GPUs, ..."; empty without a measured iteration.
std::string measured_step_text(const JobQuestion& question);
/// Writes {"step_s", "gpus", "gpu", "global_batch", "predicted_step_s", "time_factor"}.
Json measured_step_json(const FittedStep& step);

}  // namespace lockstep::sim::job_prediction
