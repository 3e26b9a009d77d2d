#pragma once
// A small job in words, and what it is predicted.
#include "sim/records/job.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

inline sim::Job small_job() {
  sim::Job job;
  job.model = "ResNet-50";
  job.gpu = "V100";
  job.gpus = {1, 8, 64};
  job.batch_per_gpu = 64;
  return job;
}

// Images/s of each number of GPUs; the other quantities lie between them.
inline std::vector<double> rates(const sim::Job& job) {
  const sim::JobPrediction predicted = sim::predict_job(job, catalogue(), 1);
  const std::size_t quantities = job.epochs > 0 ? 3 : 2;
  std::vector<double> rates;
  for (std::size_t i = 0; i < predicted.predictions.size(); i += quantities)
    rates.push_back(predicted.predictions[i].predicted);
  return rates;
}

inline std::string why_refused(const sim::Job& job) {
  try {
    sim::predict_job(job, catalogue(), 1);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace lockstep::tests
