#pragma once
// Formats the facts of a machine, as calib/topology and the importers write them, for people.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// One line each for driver, GPUs, NICs and links; other members unchanged.
std::string facts_text(const Json& facts);
/// Counts the GPUs: "2 x NVIDIA H100 80GB HBM3", "no NVIDIA GPU", "1 of NVIDIA on the PCI bus (no libnvidia-ml.so.1)".
std::string gpus_text(const Json& facts);

}  // namespace lockstep::calib
