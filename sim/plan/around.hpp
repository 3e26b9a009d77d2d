#pragma once
// A plan's report contains the recommended point and the parts that this file adds: the efficiency of every point, and for
// the recommended one its scaling, the breakdown of an iteration, what-ifs, assumptions and warnings.
#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// Throughput per GPU over that of the scenario's baseline (default: one node), with the same other settings, batch per
/// GPU and fidelity.
void add_efficiencies(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

void describe_recommendation(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

}  // namespace lockstep::sim::plan
