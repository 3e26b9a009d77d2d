#pragma once
// Reads configurations of pre-training frameworks: torchtitan, NeMo, Megatron-Bridge, Primus, MaxText.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

std::vector<LaunchReader> pretraining_readers();

/// Torchtitan's sections (torchtitan/config): "training.seq_len", "parallelism.tensor_parallel_degree".
bool is_torchtitan(const LaunchSettings& settings);
void read_torchtitan(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue,
                     const ReadNamedFile& read_named);
const std::vector<UnreadKeys>& torchtitan_unread();

/// MaxText's flat keys (src/maxtext/configs/base.yml).
bool is_maxtext(const LaunchSettings& settings);
void read_maxtext(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue, const ReadNamedFile& read_named);
const std::vector<UnreadKeys>& maxtext_unread();

}  // namespace lockstep::sim::launch
