#pragma once
// Uses a rate that was measured on another GPU than the job's (`--rate` with `--rate-gpu`).
//
//   rate on the job's GPU = measured rate  x  predicted rate of the job's GPU / predicted rate of the measured GPU
//
// Both predictions are for one GPU with the job's model, batch, software and precision. The measured rate includes the
// overheads of software and model that the kernel laws omit. These laws are not equally accurate on all GPUs, so the
// interval is as wide as without a measured rate.
#include <string>

#include "sim/catalogue/catalogue.hpp"
#include "sim/job_prediction/job_question.hpp"

namespace lockstep::sim::job_prediction {

struct CarriedRate {
  std::string gpu;           ///< the catalogue's id of the measured GPU
  double samples_per_s = 0;  ///< on the job's GPU
};

/// Throws InputError if the measured GPU is unknown or the job cannot be predicted on it. Also throws it if the job
/// gives no precision and the defaults of the two GPUs differ.
CarriedRate carry_rate(const JobQuestion& question, const Catalogue& catalogue);

}  // namespace lockstep::sim::job_prediction
