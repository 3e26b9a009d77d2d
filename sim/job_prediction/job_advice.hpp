#pragma once
// What would make a job fit for which no split was found. Every change was tried.
#include <functional>
#include <string>

#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// Whether a changed question has an answer.
using HasAnswer = std::function<bool(const JobQuestion& question)>;

/// "without --tensor, or without --sharding"; "128 GPUs" where leaving out an option does not help; else what is left to do.
std::string changes_that_fit(const JobQuestion& question, int gpus, const HasAnswer& has_answer);

}  // namespace lockstep::sim::job_prediction
