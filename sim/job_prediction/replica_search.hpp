#pragma once
// Chooses sharding, recomputation and micro-batch for whole replicas, for models that cannot be split
// (sim/stack/whole_replicas.hpp). If all samples of a GPU fit at once, it uses none of the three. Otherwise it takes
// the fastest combination that fits into memory.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// Returns the question with whole replicas, on those of its numbers of GPUs that choose as the largest one does. The
/// caller asks for the others apart. `why` is the reason why its model cannot be split. If nothing fits, the question has
/// the least memory, and the caller refuses it. Throws InputError for options that whole replicas do not
/// support.
JobQuestion choose_whole_replicas(const JobQuestion& question, const std::string& why, const Catalogue& catalogue);

/// Whether one scenario can have both choices. With a global batch, the batch of a GPU may differ.
bool is_same_choice(const Job& a, const Job& b, bool has_global_batch);

}  // namespace lockstep::sim::job_prediction
