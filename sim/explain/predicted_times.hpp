#pragma once
// Predicts the times of measurements, as expected or with a fault.
#include <string>
#include <vector>

#include "sim/explain/check.hpp"
#include "sim/explain/faults.hpp"
#include "sim/explain/scoring.hpp"

namespace lockstep::sim::explain {

/// Settings of a prediction.
struct PredictionSettings {
  const Catalogue& catalogue;
  int threads = 1;
  const FaultVariant* variant = nullptr;  ///< null: no fault
};

/// Times of the collective's points, in their order. `read` gets how the question was read, a line.
std::vector<Expected> predict_collective(const MeasuredCollective& collective, const PredictionSettings& settings,
                                         std::string* read = nullptr);

struct StepPrediction {
  Expected expected;
  Scenario scenario;
  double tokens_per_gpu = 0, samples = 0;  ///< of an iteration
  calib::PartSeconds parts{};              ///< of a traced step; of another one 0
};

/// Throws InputError for a job that cannot be predicted.
StepPrediction predict_step(const MeasuredStep& step, const PredictionSettings& settings);

/// Adds the expected times of those collectives that `predict_collective()` can predict: of all GPUs of the job, or of GPUs of
/// one node.
void add_expected_collective_times(std::vector<CollectiveTime>& collectives, const JobQuestion& question,
                                   const PredictionSettings& settings);

/// The split of the expectation becomes the job's own, so that faults do not choose another one.
void fix_split(JobQuestion& question, const Scenario& scenario);

/// Seconds of an iteration, converted from a rate if the log has one. Throws InputError for tokens/s of a model without tokens.
double step_seconds(const MeasuredStep& step, const StepPrediction& predicted);

}  // namespace lockstep::sim::explain
