#pragma once
// Adds to a plan's report the efficiency of every point. For the recommended point it adds scaling, the breakdown of an
// iteration, what-ifs, assumptions and warnings.
#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// Sets throughput per GPU relative to the scenario's baseline (default: one node). Other settings, batch per GPU and
/// fidelity are the same.
void add_efficiencies(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

void describe_recommendation(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

}  // namespace lockstep::sim::plan
