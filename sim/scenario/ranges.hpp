#pragma once
// Upper limits that several objects of a scenario share.
#include "engine/base/json.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

constexpr int kMostGpus = 1 << 20;
constexpr int kMostGpusPerNode = 128;  ///< also limits NICs
constexpr int kMostGpusOfRack = 1024;  ///< GPUs that a job or the catalogue may call a node
constexpr int kLargestBatch = 1 << 20;
constexpr int kLargestGlobalBatch = 1 << 28;  ///< of a split job: sequences per iteration
inline const Range kFraction{1e-6, 1};
inline const Range kSeconds{0, 10};
inline constexpr double kLeastTimeFactor = 0.05, kMostTimeFactor = 20;
inline const Range kTimeFactors{kLeastTimeFactor, kMostTimeFactor};
inline const Range kRate{1e-6, 1e12};  // samples/s
inline const Range kBytes{1, 1e12};

}  // namespace lockstep::sim::scenario
