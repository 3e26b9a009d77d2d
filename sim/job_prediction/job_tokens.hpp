#pragma once
// Further answers about a job on sequences: tokens/s, arithmetic over the GPUs' peak, the time and cost of a training of so
// many tokens.
#include <string>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// A count as people write it: "300B", "1.5T", "2e9", "40M". Throws InputError.
double count_of(const std::string& option, const std::string& text);

/// A table, a row per number of GPUs; empty for models of images.
std::string job_tokens_text(const JobPrediction& predicted);
/// [{"gpus", "tokens_per_s", "tokens_per_s_low", "tokens_per_s_high", "model_flops_per_gpu", "mfu", "hfu", "batch_tokens",
/// "training_s", "training_s_low", "training_s_high", "tokens", "tokens_low", "tokens_high" (to a given loss; null: out of
/// reach), "loss", "loss_low", "loss_high" (after given tokens), "loss_law", "calendar_s", "calendar_s_low", "calendar_s_high", "interruptions", "usd"}], from
/// "hfu" on where they are known; utilisation as sim/report/result.hpp
/// has it.
Json job_tokens_json(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
