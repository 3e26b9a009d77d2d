#pragma once
// Reads HuggingFace's Trainer (transformers/training_args.py), Accelerate's configuration, and LLaMA-Factory and
// axolotl, which are built on them.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

std::vector<LaunchReader> huggingface_readers();
const std::vector<UnreadKeys>& trainer_unread();
/// Reads the Trainer's arguments for software whose default batch per GPU is `default_batch`.
void read_trainer_arguments(LaunchSettings& settings, Facts& facts, const Catalogue& catalogue,
                            const ReadNamedFile& read_named, std::int64_t default_batch);

}  // namespace lockstep::sim::launch
