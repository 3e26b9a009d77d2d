#pragma once
// Arguments of Megatron-LM (megatron/training/arguments.py) and Megatron-DeepSpeed, and the same names in
// configurations of software built on it: Primus, NeMo, Megatron-Bridge. Keys are spelled with underscores.
#include "sim/launch/facts.hpp"

namespace lockstep::sim::launch {

/// Source of the keys. On the command line, --num-query-groups has no effect without --group-query-attention.
enum class MegatronKeys { arguments, configuration };

/// Reads all keys that affect the job. megatron_unread() gives the reasons for others.
void read_megatron(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue, MegatronKeys kind);

/// Keys that are not read, with reasons.
const std::vector<UnreadKeys>& megatron_unread();
/// Environment variables and launcher options that are not read, with reasons.
const std::vector<UnreadKeys>& environment_unread();

}  // namespace lockstep::sim::launch
