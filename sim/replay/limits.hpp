#pragma once
// Tolerances of the replays: smaller differences of capacities or times count as none.
#include <limits>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCapacityTolerance = 1e-9;  ///< relative to a link's bandwidth: rounding of a sum of loads
constexpr double kSteady_s = 1e-12;          ///< rounds count as equal if the ranks' delays differ by less

}  // namespace lockstep::sim::replay
