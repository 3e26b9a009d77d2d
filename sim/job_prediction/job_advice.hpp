#pragma once
// Suggests changes for a job without a split that fits. Each suggestion but "GPUs of more memory" was tried.
#include <functional>
#include <string>

#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// True if the changed question has an answer.
using HasAnswer = std::function<bool(const JobQuestion& question)>;

/// "without --tensor, or without --sharding"; "128 GPUs" if leaving out an option does not help; "GPUs of more memory" if nothing tried fits.
std::string changes_that_fit(const JobQuestion& question, int gpus, const HasAnswer& has_answer);

}  // namespace lockstep::sim::job_prediction
