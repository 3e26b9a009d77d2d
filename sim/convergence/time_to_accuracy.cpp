#include "sim/convergence/time_to_accuracy.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim {

double iterations_to_target(const ConvergenceSpec& convergence, double workers, double global_batch) {
  const std::vector<IterationsAt>& table = convergence.iterations_by_workers;
  if (table.empty()) return convergence.epochs * convergence.train_samples / global_batch;
  if (table.size() == 1) return table[0].iterations;
  std::size_t next = 1;  // the end of the segment
  while (next + 1 < table.size() && workers > table[next].workers) ++next;
  const IterationsAt &a = table[next - 1], &b = table[next];
  const double along = std::log(workers / a.workers) / std::log(b.workers / a.workers);
  return a.iterations * std::pow(b.iterations / a.iterations, along);
}

TimeToAccuracy time_to_accuracy(const ConvergenceSpec& convergence, double epochs_uncertainty,
                                std::int64_t global_batch, double iteration_s, double relative_low,
                                double relative_high, double workers) {
  TimeToAccuracy result;
  const double iterations = iterations_to_target(convergence, workers, static_cast<double>(global_batch));
  result.iterations = static_cast<std::int64_t>(std::ceil(iterations));
  result.epochs = convergence.iterations_by_workers.empty()
                      ? convergence.epochs
                      : iterations * static_cast<double>(global_batch) / convergence.train_samples;
  result.seconds = static_cast<double>(result.iterations) * iteration_s;
  result.low_s = result.seconds * std::max(0.0, 1 - std::hypot(1 - relative_low, epochs_uncertainty));
  result.high_s = result.seconds * (1 + std::hypot(relative_high - 1, epochs_uncertainty));
  return result;
}

}  // namespace lockstep::sim
