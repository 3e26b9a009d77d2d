#include "sim/convergence/time_to_accuracy.hpp"
#include "sim/convergence/profile.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::sim::convergence {

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

IterationsEstimate iterations_to_target(const ConvergenceSpec& convergence, const TrainingSetting& setting,
                                        double global_batch, double epochs_uncertainty) {
  if (convergence.profile) {
    const ConvergenceProfile& profile = *convergence.profile;
    IterationsEstimate estimate =
        estimate_iterations(profile, profile.target_named(convergence.target).value(), setting);
    const double updates = global_batch / setting.images();  // updates per simulated iteration
    for (double* value : {&estimate.bound.iterations, &estimate.bound.low, &estimate.bound.high}) *value /= updates;
    return estimate;
  }
  const double iterations = iterations_to_target(convergence, global_batch / setting.batch, global_batch);
  return {{iterations, iterations * (1 - epochs_uncertainty), iterations * (1 + epochs_uncertainty)}, {}};
}

TimeToAccuracy time_to_accuracy(const ConvergenceSpec& convergence, const IterationsEstimate& iterations,
                                double global_batch, double iteration_s, double relative_low, double relative_high) {
  TimeToAccuracy result;
  const IterationsBound& bound = iterations.bound;
  result.iterations = static_cast<std::int64_t>(std::ceil(bound.iterations));
  const bool by_epochs = !convergence.profile && convergence.iterations_by_workers.empty();
  result.epochs = by_epochs ? convergence.epochs : bound.iterations * global_batch / convergence.train_samples;
  result.seconds = static_cast<double>(result.iterations) * iteration_s;
  const double below = 1 - bound.low / bound.iterations, above = bound.high / bound.iterations - 1;
  result.low_s = result.seconds * std::max(0.0, 1 - std::hypot(1 - relative_low, below));
  result.high_s = result.seconds * (1 + std::hypot(relative_high - 1, above));
  result.notes = iterations.notes;
  return result;
}

TimeToAccuracy time_to_accuracy(const ConvergenceSpec& convergence, double epochs_uncertainty,
                                std::int64_t global_batch, double iteration_s, double relative_low,
                                double relative_high, double workers) {
  TrainingSetting setting;
  const double images = static_cast<double>(global_batch);
  setting.workers = workers;
  setting.batch = images / workers;
  return time_to_accuracy(convergence, iterations_to_target(convergence, setting, images, epochs_uncertainty), images,
                          iteration_s, relative_low, relative_high);
}

}  // namespace lockstep::sim::convergence
