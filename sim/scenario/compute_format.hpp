#pragma once
// The scenario's objects "compute" and "input".
#include "engine/base/object_format.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// A profile must hold times of the model that `profile.model` names before the object is read.
const ObjectFormat<ComputeSpec>& compute_format();
const ObjectFormat<InputSpec>& input_format();

}  // namespace lockstep::sim::scenario
