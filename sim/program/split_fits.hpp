#pragma once
// Suggests changes that make a split fit into its GPUs' memory.
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::program {

/// Suggests changes that make the split fit into memory, if model, GPUs and batch allow them. Each changes one key of
/// /parallel: "recompute full, or tensor 4". If no single change suffices, suggests all memory-saving changes together,
/// or else more GPUs.
std::string suggest_fitting_split(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::program
