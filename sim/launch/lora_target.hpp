#pragma once
// Reads which matrices of a layer have adapters.
#include <string>

#include "sim/launch/facts.hpp"
#include "sim/launch/settings.hpp"

namespace lockstep::sim::launch {

/// Gives --lora-target: "all" if a matrix behind the attention is named, or all of them ("all-linear"), else
/// "attention". Without a name it gives `otherwise`, the software's default, with the reason `why`; empty: nothing is
/// given. Does nothing if the configuration has no adapters.
void read_lora_target(LaunchSettings& s, Facts& f, const std::string& otherwise = "", const std::string& why = "");

}  // namespace lockstep::sim::launch
