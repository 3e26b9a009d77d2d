#pragma once
// Warns about predictions outside the range in which their inputs were measured or published.
#include <string>
#include <vector>

#include "sim/plan/plan_spec.hpp"

namespace lockstep::sim::plan {

/// Returns one line per problem: a batch outside the rates or the profile, or more devices than were measured together.
/// Other problems are rates of another model or of the base scenario's GPU, and a profile of another GPU.
std::vector<std::string> extrapolations(const PlanSpec& plan, const PlanPoint& point, const Scenario& scenario,
                                        int gpus, int batch_per_gpu);

}  // namespace lockstep::sim::plan
