#pragma once
// A point of a scenario whose replicas are split over GPUs.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// In closed form, by flows or by messages (sim/replica). A split into replicas of one GPU that keep the whole model is data
/// parallelism, whose micro-steps are the micro-batches: predict without_split() instead.
PointResult predict_split(const Scenario& scenario, const PointRequest& request);

/// Returns data parallelism at `gpus` GPUs with as many micro-steps as the split has micro-batches.
Scenario without_split(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::point
