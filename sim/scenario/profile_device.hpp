#pragma once
// Whether a profile was measured on the GPU that a scenario's cluster has.
#include <string>

#include "calib/profile.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// Names of both kinds are compared by their type, such as H100 in "NVIDIA H100 80GB HBM3" and "H100 SXM5"; GB200 is a B200.
/// Names without a type, such as "processor core", go with any device. Returns the profile's device, cut to its name, where the
/// two contradict each other, as a processor and an H100 do; else an empty text.
std::string contradicting_device(const calib::DeviceFacts& device, const std::string& gpu);

}  // namespace lockstep::sim::scenario
