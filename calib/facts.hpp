#pragma once
// Facts of a machine, as calib/topology and the importers write them, for people to read.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// A line each for driver, GPUs, NICs and links; other members as they are.
std::string facts_text(const Json& facts);
/// "2 x NVIDIA H100 80GB HBM3", "no NVIDIA GPU", "1 of NVIDIA on the PCI bus (no libnvidia-ml.so.1)".
std::string gpus_text(const Json& facts);

}  // namespace lockstep::calib
