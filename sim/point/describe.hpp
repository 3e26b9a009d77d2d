#pragma once
// What a point's result tells beside its times.
#include "sim/point/point.hpp"

namespace lockstep::sim {
inline namespace point {

/// What a program's calls of a library chose, into the point's details: "calls", one for every operation and size.
void describe_calls(const Program& program, PointResult& point);
/// Of a point over several nodes whose NCCL calls follow measured ones over several nodes: the fitted constants and how
/// far off they are, as "nccl_fit".
void describe_nccl_fit(const Scenario& scenario, PointResult& point);
/// Adds to the point's details and notes: per fully-connected layer the scheme and what Table 1 of Poseidon counts for
/// each, and what the busiest GPU sends and receives.
void describe_schemes(const Scenario& scenario, int batch_per_gpu, PointResult& point);

}  // namespace point
}  // namespace lockstep::sim
