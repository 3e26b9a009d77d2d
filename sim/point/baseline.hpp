#pragma once
// The reference of a point's scaling efficiency: samples/s per GPU over those of `baseline_gpus` GPUs that do the same
// work each.
#include <string>

#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// The point's learners per GPU if the auto-tuner chose them; 0 if the scenario gives their number.
int tuned_learners(const Scenario& scenario, const PointResult& point);

/// The baseline's scenario, at the point's batch per GPU: the point's scenario, except that
///   - every GPU has `learners` learners if that is above 0 (chosen by the auto-tuner for the point; on other GPUs it
///     might choose another number, which trains another global batch);
///   - backup workers have no backups and no time-out, so that every gradient counts. Samples of dropped gradients are no
///     throughput, but all GPUs are counted, so the efficiency includes the cost of backups.
Scenario baseline_of(const Scenario& scenario, int learners);
/// Whether that is the scenario itself, so that one of its points may serve.
bool is_own_baseline(const Scenario& scenario);

/// Quantities of an iteration that determine the throughput of a GPU.
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

/// Why a GPU of the point does more than one of the baseline, as a line for the reader: each part of an iteration that
/// is shorter, and by how much. Empty where it does not, to a tenth of a per cent.
std::string above_baseline(const Scenario& scenario, const GpuWork& point, const GpuWork& baseline);

}  // namespace lockstep::sim::point
