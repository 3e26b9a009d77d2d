#pragma once
// Predicts a point of a scenario whose replicas are split over GPUs.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// Predicts in closed form, by flows or by messages (sim/replica). If each replica is one GPU that keeps the whole
/// model, the split is data parallelism, and micro-batches are micro-steps: predict without_split() instead.
PointResult predict_split(const Scenario& scenario, const PointRequest& request);

/// Returns data parallelism at `gpus` GPUs with a micro-step for each micro-batch of the split.
Scenario without_split(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::point
