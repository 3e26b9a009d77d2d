#pragma once
// Where a prediction reaches beyond what its inputs were measured or published for.
#include <string>
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// One line each: a batch outside the rates or the profile, more devices than were measured together, rates of another
/// model or of the GPU of the plan's base scenario, a profile of another GPU.
std::vector<std::string> extrapolations(const PlanSpec& plan, const PlanPoint& point, const Scenario& scenario,
                                        int gpus, int batch_per_gpu);

}  // namespace lockstep::sim::plan
