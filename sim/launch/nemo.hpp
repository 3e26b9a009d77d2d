#pragma once
// Reads configurations of NeMo 1 (one "model" section), NeMo 2 ("trainer.strategy", or a factory by name) and
// Megatron-Bridge. Adapters (PEFT) have the same keys in all of them.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

bool is_nemo(const LaunchSettings& settings);
void read_nemo(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue, const ReadNamedFile& read_named);
void read_bridge(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue, const ReadNamedFile& read_named);

/// Gives Megatron-LM's defaults of sharding and recomputation: none.
void give_megatron_defaults(Facts& facts);

}  // namespace lockstep::sim::launch
