#pragma once
// Reads the shape of a model from Megatron-LM's arguments.
#include "sim/launch/megatron.hpp"

namespace lockstep::sim::launch {

/// Flags of a model's shape, which are also keys of configurations with model type "megatron".
const std::vector<std::string>& megatron_model_flags();

/// Gives --model if the settings describe a model; requires it instead for an architecture that is not modelled. Throws
/// InputError for reinforcement learning and for malformed layer patterns.
void read_megatron_model(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue, MegatronKeys kind);

}  // namespace lockstep::sim::launch
