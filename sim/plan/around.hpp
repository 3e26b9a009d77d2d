#pragma once
// Parts of a plan's report beside the recommended point: efficiencies of all points, and the recommended point's scaling,
// breakdown of an iteration, what-ifs, assumptions and warnings.
#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// Throughput per GPU over that of the scenario's baseline (default: one node), with the same other settings, batch per
/// GPU and fidelity.
void add_efficiencies(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

void describe_recommendation(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

}  // namespace lockstep::sim::plan
