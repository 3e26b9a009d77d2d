#pragma once
// Suggests changes to a job for which no split fits. All suggestions are tried, except the last two.
#include <functional>
#include <string>

#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// True if the changed question has an answer.
using HasAnswer = std::function<bool(const JobQuestion& question)>;

/// Returns "without --tensor, or without --sharding". If leaving out one option does not help, returns "128 GPUs". If
/// only leaving out all helps, returns "none of --pipeline, --tensor". If nothing tried helps, returns "GPUs of more
/// memory" if splits exceed it, else "another number of GPUs, or another model".
std::string changes_that_fit(const JobQuestion& question, int gpus, bool exceeds_memory, const HasAnswer& has_answer);

}  // namespace lockstep::sim::job_prediction
