#pragma once
// Reads which layers of HuggingFace's models run as one kernel each: Liger, Unsloth, FlashAttention's extras of axolotl,
// Cut Cross-Entropy, torch.compile.
#include "sim/launch/facts.hpp"
#include "sim/launch/settings.hpp"

namespace lockstep::sim::launch {

/// Gives --fused-norms, --fused-rotary, --fused-gelu and --fused-loss as far as the configuration switches them on, and
/// --no-fused-attention if it requests unfused attention.
void read_fused_layers(LaunchSettings& s, Facts& f);

}  // namespace lockstep::sim::launch
