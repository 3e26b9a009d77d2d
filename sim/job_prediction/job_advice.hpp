#pragma once
// Suggests changes to a job for which no split fits. Each suggestion but the last two was tried.
#include <functional>
#include <string>

#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// True if the changed question has an answer.
using HasAnswer = std::function<bool(const JobQuestion& question)>;

/// "without --tensor, or without --sharding"; "128 GPUs" if leaving out an option does not help; "none of --pipeline,
/// --tensor" if leaving out all does; if nothing tried fits, "GPUs of more memory" where splits exceed it, else "another
/// number of GPUs, or another model".
std::string changes_that_fit(const JobQuestion& question, int gpus, bool exceeds_memory, const HasAnswer& has_answer);

}  // namespace lockstep::sim::job_prediction
