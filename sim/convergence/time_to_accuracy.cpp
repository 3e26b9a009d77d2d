#include "sim/convergence/time_to_accuracy.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim {

TimeToAccuracy time_to_accuracy(const ConvergenceSpec& convergence, double epochs_uncertainty,
                                std::int64_t global_batch, double iteration_s, double relative_low,
                                double relative_high) {
  TimeToAccuracy result;
  result.epochs = convergence.epochs;
  result.iterations = static_cast<std::int64_t>(
      std::ceil(convergence.epochs * convergence.train_samples / static_cast<double>(global_batch)));
  result.seconds = static_cast<double>(result.iterations) * iteration_s;
  result.low_s = result.seconds * std::max(0.0, 1 - std::hypot(1 - relative_low, epochs_uncertainty));
  result.high_s = result.seconds * (1 + std::hypot(relative_high - 1, epochs_uncertainty));
  return result;
}

}  // namespace lockstep::sim
