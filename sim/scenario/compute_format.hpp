#pragma once
// The scenario's objects "compute" and "input".
#include "engine/base/object_format.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim {

/// `model`: whose times a profile must hold; empty: profiles are not read (schemas, tables).
ObjectFormat<ComputeSpec> compute_format(const std::string& model = "");
const ObjectFormat<InputSpec>& input_format();

}  // namespace lockstep::sim
