#pragma once
// What would make a split fit into its GPUs' memory.
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::sim::program {

/// The changes of one key of /parallel each that do, of those that model, GPUs and batch allow, for example "recompute
/// full, or tensor 4"; where none does alone, all that save memory together; else more GPUs.
std::string split_that_fits(const Scenario& scenario, int gpus);

}  // namespace lockstep::sim::program
