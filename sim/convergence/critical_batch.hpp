#pragma once
// The critical batch of S-SGD, in images per update. It has two sources: the gradient noise scale of runs, and the law
// fitted to their iterations.
//
// Iterations to a target are S_min (1 + x_c / x). x_c is the mean noise scale of a run up to its target, weighted by
// the progress of iterations (mean_by_progress() of engine/sync/noise_scale.hpp).
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {

/// Coverage of all intervals.
constexpr double kIntervalCoverage = 0.8;

/// Standard deviation of the logarithm of a fitted critical batch over a measured noise scale: a factor of 3.2
/// (results/convergence/2026-11-29).
inline const double kNoiseScaleDeviation = std::log(3.2);

/// Holds a critical batch with its 80 % interval.
struct CriticalBatch {
  double batch = 0;
  double low = 0;
  double high = 0;
  int runs = 0;  ///< number of runs
};

/// Computes it from the noise scale of one run up to `iterations`. None: not measured, or a stretch of the run has no
/// upper bound.
std::optional<CriticalBatch> measured_critical_batch(const ProfileRun& run, double iterations);
/// Geometric mean over runs of one setting, each up to its target. Its interval is the wider of the measurements' own
/// interval and the one that follows from the scatter between runs. None: no run has a measurement.
std::optional<CriticalBatch> measured_critical_batch(const std::vector<const ProfileRun*>& runs, std::size_t target);
/// Returns the critical batch of the fit's law. None if the fit is a table or its law does not saturate.
std::optional<CriticalBatch> fitted_critical_batch(const ConvergenceFit& fit);

/// The law of at least three runs at one batch that all reached the target. It passes through the mean of their
/// iterations and has the measured critical batch. To the measurement's deviation, it adds a factor of 3.2, as measured
/// at three batches (results/convergence/2026-11-29), in quadrature.
Law law_from_noise_scale(const std::vector<LawObservation>& runs, const CriticalBatch& critical);

/// A table of measured and fitted critical batches by target and batch; empty if no run measured its noise scale.
std::string critical_batches_text(const ConvergenceProfile& profile);

}  // namespace lockstep::sim::convergence
