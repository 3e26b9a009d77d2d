#pragma once
// The scenario's objects "compute" and "input". Their keys are described in README.md.
#include <string>

#include "engine/base/json.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {

/// `model`: whose times a profile must hold. Throws InputError.
ComputeSpec read_compute(const JsonNode& node, const std::string& model);

/// Throws InputError.
InputSpec read_input(const JsonNode& node);

}  // namespace lockstep::sim
