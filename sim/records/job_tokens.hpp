#pragma once
// What a job on sequences is asked besides: tokens/s, arithmetic over the GPUs' peak, the time and cost of a training of so
// many tokens.
#include <string>

#include "sim/records/job.hpp"

namespace lockstep::sim {
inline namespace records {

/// "15T", "300B", "1.5e12". Throws InputError.
double tokens_of(const std::string& text);

/// A table, a row per number of GPUs; empty for models of images.
std::string job_tokens_text(const Job& job, const JobPrediction& predicted);
/// [{"gpus", "tokens_per_s", "tokens_per_s_low", "tokens_per_s_high", "model_flops_per_gpu", "mfu", "hfu", "training_s",
/// "training_s_low", "training_s_high", "usd"}], the last five where they are known; utilisation as sim/report/result.hpp
/// has it.
Json job_tokens_json(const Job& job, const JobPrediction& predicted);

}  // namespace records
}  // namespace lockstep::sim
