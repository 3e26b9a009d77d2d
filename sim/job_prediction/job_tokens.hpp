#pragma once
// More answers about a job on sequences: tokens/s, model FLOP utilisation, and the time and cost of a training on a
// given number of tokens.
#include <string>

#include "sim/job_prediction/job_prediction.hpp"

namespace lockstep::sim::job_prediction {

/// Parses a count such as "300B", "1.5T", "2e9" or "40M". Throws InputError.
double count_of(const std::string& option, const std::string& text);

/// Prints a table with a row per number of GPUs; empty for models of images.
std::string job_tokens_text(const JobPrediction& predicted);
/// Returns an array of objects, one per number of GPUs. Keys from "hfu" on are present if they are known.
/// sim/report/result.hpp defines the utilisations.
///
///   "gpus", "tokens_per_s", "tokens_per_s_low", "tokens_per_s_high", "model_flops_per_gpu", "mfu", "hfu",
///   "batch_tokens", "training_s", "training_s_low", "training_s_high",
///   "tokens", "tokens_low", "tokens_high"   to a given loss; null: out of reach
///   "loss", "loss_low", "loss_high"         after given tokens
///   "loss_law", "calendar_s", "calendar_s_low", "calendar_s_high", "interruptions", "usd"
Json job_tokens_json(const JobPrediction& predicted);

}  // namespace lockstep::sim::job_prediction
