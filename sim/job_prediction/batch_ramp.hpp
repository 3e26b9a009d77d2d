#pragma once
// --batch-ramp: a training that begins with smaller batches than its global batch.
#include <string>
#include <vector>

#include "sim/job_prediction/job_prediction.hpp"
#include "sim/loss/batch_ramp.hpp"

namespace lockstep::sim::job_prediction {

/// Reads "512:252M,1024:2.87T": a global batch of 512 until 252M tokens, then 1024 until 2.87T, then the job's. Also reads
/// "32+32:12B": the batch begins with 32 and grows by 32 at equal intervals. It reaches the job's after 12B tokens. The
/// last number of Megatron-LM's --rampup-batch-size counts samples instead. Throws InputError.
std::vector<BatchStage> read_batch_ramp(const std::string& text, std::int64_t global_batch);

/// Sets JobRow::ramp of every row: predicts an iteration at each batch, with the row's split. The time of a batch that
/// the split cannot run is estimated linearly from those of two batches that it can.
void time_batch_ramp(JobPrediction& predicted, const TimingOptions& timing);

/// Returns the constant batch, in tokens, that leads to the same loss after `tokens` tokens as the row's batches do.
/// `batch_tokens` is the batch after the ramp. Requires a law of the loss.
double batch_for_loss(const JobPrediction& predicted, const JobRow& row, double tokens, double batch_tokens);
/// Returns the tokens to the question's loss with the ramp, from those with a constant batch. Both ends of the interval
/// change by the same factor.
BoundedValue tokens_with_ramp(const JobPrediction& predicted, const JobRow& row, double batch_tokens,
                              const BoundedValue& without_ramp);

/// Returns the seconds of a training on `samples` samples. `iteration_s` and `global_batch` are those after the ramp.
double seconds_with_ramp(const JobRow& row, double samples, double global_batch, double iteration_s);

}  // namespace lockstep::sim::job_prediction
