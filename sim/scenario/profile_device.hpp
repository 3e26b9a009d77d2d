#pragma once
// Checks whether a profile was measured on the GPU of a scenario's cluster.
#include <string>

#include "calib/profile.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// Compares the GPU types in both names: "NVIDIA H100 80GB HBM3" and "H100 SXM5" are both H100; GB200 counts as B200.
///
/// Returns the profile's device name, cut at the first "," or "(", if the types differ or the profile was measured on a
/// CPU. Returns "" if they agree, if `gpu` names no type, or if a device that is not a CPU names none.
std::string find_contradicting_device(const calib::DeviceFacts& device, const std::string& gpu);

}  // namespace lockstep::sim::scenario
