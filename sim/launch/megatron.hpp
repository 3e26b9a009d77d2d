#pragma once
// Arguments of Megatron-LM (megatron/training/arguments.py) and Megatron-DeepSpeed, and the same names in configurations of
// software on top of it: Primus, NeMo, Megatron-Bridge. Keys are in their spelling with underscores.
#include "sim/launch/facts.hpp"

namespace lockstep::sim::launch {

/// Source of the keys. Only the command line needs --group-query-attention for --num-query-groups to count.
enum class MegatronKeys { arguments, configuration };

/// Takes what decides the job; the keys that it does not take are marked by megatron_unread().
void read_megatron(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue, MegatronKeys kind);

/// Keys that are not read, and why.
const std::vector<UnreadKeys>& megatron_unread();
/// Variables of the environment and options of launchers that are not read, and why.
const std::vector<UnreadKeys>& environment_unread();

}  // namespace lockstep::sim::launch
