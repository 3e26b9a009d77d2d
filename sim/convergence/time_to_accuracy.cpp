#include "sim/convergence/time_to_accuracy.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {
namespace {

// The iterations of local SGD over those of S-SGD are tau^p. This is the assumed half-width of the 80 % interval of p. On
// LeNet to 97 % it is at most 0.06 (results/convergence/2026-11-30), but no other network was measured.
constexpr double kLocalExponentReach = 0.1;

}  // namespace

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
  IterationsEstimate estimate{
      {iterations, iterations * (1 - epochs_uncertainty), iterations * (1 + epochs_uncertainty)}, {}};
  if (setting.algorithm == Algorithm::local_sgd && setting.tau > 1) {
    const double factor = std::pow(setting.tau, kLocalExponentReach);
    estimate.bound.low = iterations * (1 - std::hypot(epochs_uncertainty, 1 - 1 / factor));
    estimate.bound.high = iterations * (1 + std::hypot(epochs_uncertainty, factor - 1));
    estimate.notes.push_back("Local SGD is assumed to need the epochs of S-SGD, within a factor of " +
                             formatted("%.2f", factor) + " at period " + short_number(setting.tau) +
                             " (LeNet on MNIST); a convergence profile with its runs replaces this.");
  }
  return estimate;
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
