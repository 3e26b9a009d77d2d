#pragma once
// The reference of a point's scaling efficiency: samples/s per GPU relative to `baseline_gpus` GPUs with the same work
// each.
#include <string>

#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// The point's learners per GPU if the auto-tuner chose them; 0 if the scenario gives their number.
int tuned_learners(const Scenario& scenario, const PointResult& point);

/// Returns the baseline's scenario, at the point's batch per GPU. It is the point's scenario with two exceptions.
///   * Every GPU has `learners` learners if that is above 0. The auto-tuner chose them for the point. On other GPUs it
///     might choose another number, which trains another global batch.
///   * Backup workers have no backups and no time-out, so that every gradient counts. Samples of dropped gradients are
///     no throughput, but all GPUs are counted, so the efficiency includes the cost of backups.
Scenario baseline_of(const Scenario& scenario, int learners);
/// True if the baseline's scenario is the scenario itself, so that one of its points may serve as baseline.
bool is_own_baseline(const Scenario& scenario);

/// The quantities of an iteration that must be known for the throughput of a GPU.
struct GpuWork {
  int gpus = 0;
  double samples_per_iteration = 0;
  double iteration_s = 0;
  double compute_s = 0;
  double exposed_communication_s = 0;
  double input_wait_s = 0;
};
GpuWork work_of(const PointResult& point);

double samples_per_s_and_gpu(const GpuWork& work);

/// Explains why a GPU does more at the point than in the baseline, as a line for the reader. It names each part of an
/// iteration that is shorter, and by how much. Empty if the GPU does not do more, to a tenth of a per cent.
std::string above_baseline(const Scenario& scenario, const GpuWork& point, const GpuWork& baseline);

}  // namespace lockstep::sim::point
