#pragma once
// Reads configurations of pre-training frameworks: torchtitan, NeMo, Megatron-Bridge, Primus, MaxText.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

std::vector<LaunchReader> pretraining_readers();

/// Whether torchtitan's sections (torchtitan/config) are present: "training.seq_len", "parallelism.*_degree".
bool is_torchtitan(const LaunchSettings& settings);
void read_torchtitan(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue,
                     const ReadNamedFile& read_named);
const std::vector<UnreadKeys>& torchtitan_unread();

/// Whether the keys are MaxText's flat ones (src/maxtext/configs/base.yml).
bool is_maxtext(const LaunchSettings& settings);
void read_maxtext(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue, const ReadNamedFile& read_named);
const std::vector<UnreadKeys>& maxtext_unread();

}  // namespace lockstep::sim::launch
