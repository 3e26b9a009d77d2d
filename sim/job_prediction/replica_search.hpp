#pragma once
// Whole replicas of a model that no split is known of (sim/stack/whole_replicas.hpp): what the job leaves open of sharding,
// recomputation and micro-batch is none of it where all samples of a GPU fit at once, else the fastest that fits into memory.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// The question with whole replicas; `why`: no split is known of its model. What does not fit stays as little as it can be, for
/// the caller to refuse. Throws InputError for what whole replicas do not have.
JobQuestion with_whole_replicas(const JobQuestion& question, const std::string& why, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
