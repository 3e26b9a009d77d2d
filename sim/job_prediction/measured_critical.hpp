#pragma once
// --critical-batch: a number of tokens, or a file with a measured gradient noise scale.
#include <string>

#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

/// Sets the critical batch and its deviation. `text` is a number such as "870k", or a file with a gradient noise scale
/// and its interval: a log of the PyTorch probe, or the profile made from it. The measured deviation between noise
/// scales and fitted critical batches (critical_batch.hpp) is added in quadrature. Throws InputError.
void set_critical_batch(const std::string& text, JobQuestion& question);

}  // namespace lockstep::sim::job_prediction
