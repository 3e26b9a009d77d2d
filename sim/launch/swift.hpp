#pragma once
// Reads ms-swift's arguments, of its Trainer and of its Megatron-Core commands.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

/// Whether keys name a model and how it is tuned, as in ms-swift's YAML.
bool is_swift(const LaunchSettings& settings);
LaunchReader swift_reader();

}  // namespace lockstep::sim::launch
