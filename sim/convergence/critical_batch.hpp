#pragma once
// The critical batch of S-SGD, in images of an update: by the gradient noise scale of runs, and by the law fitted to
// their iterations.
//
// Iterations to a target are S_min (1 + x_c / x). x_c is the mean of the noise scale over a run to its target, weighted by
// the iterations' progress (mean_by_progress() of engine/sync/noise_scale.hpp).
#include <optional>
#include <string>
#include <vector>

#include "sim/convergence/profile.hpp"

namespace lockstep::sim::convergence {

/// Holds a critical batch with its 80 % interval.
struct CriticalBatch {
  double batch = 0;
  double low = 0;
  double high = 0;
  int runs = 0;  ///< that it rests on
};

/// Estimates it from the noise scale of one run up to `iterations`. None: not measured, or some stretch has no upper
/// bound.
std::optional<CriticalBatch> measured_critical_batch(const ProfileRun& run, double iterations);
/// Geometric mean over runs of one setting, up to where each reached the target. The interval is the wider one of the
/// measurements' and of the scatter between runs. None: no run has one.
std::optional<CriticalBatch> measured_critical_batch(const std::vector<const ProfileRun*>& runs, std::size_t target);
/// Returns that of the fit's law. None if the fit is a table or its law does not saturate.
std::optional<CriticalBatch> fitted_critical_batch(const ConvergenceFit& fit);

/// The law of at least three runs at one batch that all reached the target. It passes through the mean of their iterations
/// and has the measured critical batch, whose standard deviation is a factor of 3.2, as measured at three batches
/// (results/convergence/2026-11-29).
Law law_from_noise_scale(const std::vector<LawObservation>& runs, const CriticalBatch& critical);

/// A table of both for each target and batch; empty where no run measured its noise scale.
std::string critical_batches_text(const ConvergenceProfile& profile);

}  // namespace lockstep::sim::convergence
