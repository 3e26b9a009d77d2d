#pragma once
// From epochs to seconds: iterations = epochs * training samples / global batch, rounded up;
// time to accuracy = iterations * mean iteration time.
#include <cstdint>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {

struct TimeToAccuracy {
  double epochs;
  std::int64_t iterations;
  double seconds;
  double low_s;  ///< with the iteration's and the epochs' uncertainty, added in quadrature
  double high_s;
};

/// Updates to the target when each averages the gradients of `workers` workers and trains on `global_batch` samples:
/// by iterations_by_workers, interpolated linearly in the logarithms (beyond its ends with the slope there), otherwise
/// epochs * training samples / global batch.
double iterations_to_target(const ConvergenceSpec& convergence, double workers, double global_batch);

/// `workers`: whose gradients an update averages, for iterations_by_workers. `relative_low` and `relative_high` bound
/// the iteration time as factors of `iteration_s`.
TimeToAccuracy time_to_accuracy(const ConvergenceSpec& convergence, double epochs_uncertainty,
                                std::int64_t global_batch, double iteration_s, double relative_low,
                                double relative_high, double workers = 1);

}  // namespace lockstep::sim
