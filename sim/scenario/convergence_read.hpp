#pragma once
// Reads the scenario's object "convergence": epochs, iterations by the number of workers, or a profile of measured or
// published runs (sim/convergence/profile.hpp). README.md describes its keys.
#include "engine/base/object_format.hpp"
#include "sim/convergence/convergence_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Throws InputError.
ConvergenceSpec read_convergence(const JsonNode& node);

const ObjectFormat<ConvergenceSpec>& convergence_format();

}  // namespace lockstep::sim::scenario
