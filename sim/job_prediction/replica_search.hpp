#pragma once
// Chooses sharding, recomputation and micro-batch for whole replicas, used for models that cannot be split
// (sim/stack/whole_replicas.hpp). If all samples of a GPU fit at once, it uses none of the three. Else it takes the
// fastest combination that fits into memory.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// The question with whole replicas; `why`: the reason why its model cannot be split. If nothing fits, the question
/// needs as little memory as possible, and the caller refuses it. Throws InputError for options that whole replicas do
/// not have.
JobQuestion with_whole_replicas(const JobQuestion& question, const std::string& why, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
