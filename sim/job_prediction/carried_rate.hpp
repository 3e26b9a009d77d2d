#pragma once
// A rate that was measured on another GPU than the job's (`--rate` with `--rate-gpu`).
//
//   rate on the job's GPU = measured rate  x  predicted rate of the job's GPU / predicted rate of the measured GPU
//
// Both predictions are of one GPU with the job's model, batch, software and precision. The measured rate holds what software
// and model cost beyond the laws of kernels. How well these laws hold differs from GPU to GPU, so that the interval is that of
// a prediction without a measured rate.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

struct CarriedRate {
  std::string gpu;           ///< the catalogue's id of the measured GPU
  double samples_per_s = 0;  ///< on the job's GPU
};

/// Throws InputError where the measured GPU is not known, the job cannot be predicted on it, or the job gives no precision and
/// the usual ones of both GPUs differ.
CarriedRate carry_rate(const JobQuestion& question, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
