#pragma once
// What a plan's report tells beside the choice: efficiencies, and around the recommended point its scaling, the
// breakdown of an iteration, what-ifs, assumptions and warnings.
#include "sim/plan/planner.hpp"

namespace lockstep::sim {
inline namespace plan {

/// Throughput per GPU over that of the scenario's baseline (default: one node), with the same other settings, batch per
/// GPU and fidelity.
void add_efficiencies(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

void tell_around(const PlanSpec& plan, Evaluation& evaluation, PlanResult& result);

}  // namespace plan
}  // namespace lockstep::sim
