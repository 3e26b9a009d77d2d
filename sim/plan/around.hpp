#pragma once
// Completes a plan's report: the efficiency of every point, and for the recommended point scaling, the breakdown of an
// iteration, what-ifs, assumptions and warnings.
#include "sim/plan/planner.hpp"

namespace lockstep::sim::plan {

/// Sets throughput per GPU relative to the scenario's baseline (default: one node). The baseline has the same other
/// settings, batch per GPU and fidelity.
void add_efficiencies(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

/// Returns up to `most` points that can run, those nearest to the frontier first.
std::vector<std::size_t> nearest_to_frontier(const PlanResult& result, std::size_t most);

void describe_recommendation(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

}  // namespace lockstep::sim::plan
