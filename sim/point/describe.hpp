#pragma once
// Fills details of a point for NCCL and parameter servers.
#include "sim/point/point.hpp"

namespace lockstep::sim::point {

/// Adds to the details the operations that a library carries out in `program`, one for every operation and size.
void describe_calls(const Program& program, PointResult& point);
/// Adds `nccl_fit` to the details if the point has several nodes and NCCL's model is fitted to operations measured over
/// several nodes.
void describe_nccl_fit(const Scenario& scenario, PointResult& point);
/// Adds to the details and notes the scheme of every fully-connected layer, the numbers that each scheme would send,
/// and the traffic of the busiest GPU.
void describe_schemes(const Scenario& scenario, int batch_per_gpu, PointResult& point);

}  // namespace lockstep::sim::point
