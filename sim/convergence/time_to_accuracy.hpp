#pragma once
// Converts iterations to seconds: time to accuracy = iterations * mean iteration time. The iterations follow from a
// profile, a table over the workers, or epochs * training samples / global batch, rounded up.
#include <cstdint>

#include "sim/convergence/convergence_spec.hpp"

namespace lockstep::sim::convergence {

struct IterationsEstimate;
struct TrainingSetting;

struct TimeToAccuracy {
  double epochs = 0;
  std::int64_t iterations = 0;
  double seconds = 0;
  double low_s = 0;  ///< uncertainties of iteration time and number of iterations, in quadrature
  double high_s = 0;
  std::vector<std::string> notes = {};
};

/// Returns the updates to the target, if each averages the gradients of `workers` workers and trains on `global_batch`
/// samples. Uses iterations_by_workers if given: interpolates linearly in the logarithms, and extrapolates with the
/// slope at the ends. Otherwise the result is epochs * training samples / global batch.
double iterations_to_target(const ConvergenceSpec& convergence, double workers, double global_batch);

/// Uses the scenario's profile with its bounds. Without one, uses its table or epochs, with bounds of
/// `epochs_uncertainty` either way. `global_batch` is that of a simulated iteration, which may hold several updates
/// (asynchronous SGD). Throws std::invalid_argument if a profile does not cover the setting.
IterationsEstimate iterations_to_target(const ConvergenceSpec& convergence, const TrainingSetting& setting,
                                        double global_batch, double epochs_uncertainty);

/// `relative_low` and `relative_high` bound the iteration time as factors of `iteration_s`.
TimeToAccuracy time_to_accuracy(const ConvergenceSpec& convergence, const IterationsEstimate& iterations,
                                double global_batch, double iteration_s, double relative_low, double relative_high);

/// For scenarios without a profile. `workers` is the number whose gradients an update averages, for
/// iterations_by_workers.
TimeToAccuracy time_to_accuracy(const ConvergenceSpec& convergence, double epochs_uncertainty,
                                std::int64_t global_batch, double iteration_s, double relative_low,
                                double relative_high, double workers = 1);

}  // namespace lockstep::sim::convergence
