#pragma once
// Compares parts of scenarios, so that points of a plan can share what is computed from them.
#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::scenario {

/// True if all members are equal. Two profiles are equal only if they are the same object.
bool is_same_compute(const ComputeSpec& a, const ComputeSpec& b);
bool is_same_communication(const CommunicationSpec& a, const CommunicationSpec& b);

}  // namespace lockstep::sim::scenario
