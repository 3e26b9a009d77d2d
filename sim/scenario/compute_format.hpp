#pragma once
// Describes the scenario's objects "compute" and "input".
#include "engine/base/object_format.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// Before the object is read, its profile must contain times of the model in `profile.model`.
const ObjectFormat<ComputeSpec>& compute_format();
const ObjectFormat<InputSpec>& input_format();

}  // namespace lockstep::sim::scenario
