#pragma once
// Tolerances of the replays: below these shares of capacities and times two values count as equal.
#include <limits>

#include "sim/modules.hpp"

namespace lockstep::sim::replay {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCapacityTolerance = 1e-9;  ///< of a link's bandwidth: rounding of a sum of loads
constexpr double kSteady_s = 1e-12;          ///< if the ranks' delays differ by less, rounds count as equal

}  // namespace lockstep::sim::replay
