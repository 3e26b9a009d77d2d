#pragma once
// The scenario's object "convergence": epochs, iterations by the number of workers, or a profile of measured or
// published runs (sim/convergence/profile.hpp). Its keys are described in README.md.
#include "engine/base/json.hpp"
#include "sim/convergence/convergence_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {

/// Throws InputError.
ConvergenceSpec read_convergence(const JsonNode& node);

/// Refuses a profile of another model, and GPU counts for which it has no law or is too far beyond its runs. `node` is
/// /convergence.
void check_profile(const JsonNode& node, const Scenario& scenario);

}  // namespace lockstep::sim
