#pragma once
// Defines a small job, and its predictions.
#include "sim/job_prediction/job_prediction.hpp"
#include "tests/records/small_records.hpp"

namespace lockstep::tests {

inline sim::JobQuestion small_job() {
  sim::JobQuestion job;
  job.job.model.stated = "ResNet-50";
  job.job.gpu.stated = "V100";
  job.gpus = {1, 8, 64};
  job.job.batch_per_gpu = 64;
  return job;
}

/// Returns samples/s at each number of GPUs.
inline std::vector<double> rates(const sim::JobQuestion& job) {
  std::vector<double> rates;
  for (const sim::JobRow& row : sim::predict_job(job, catalogue(), 1).rows)
    rates.push_back(row.samples_per_s.predicted);
  return rates;
}

inline std::string why_refused(const sim::JobQuestion& job) {
  try {
    static_cast<void>(sim::predict_job(job, catalogue(), 1));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace lockstep::tests
