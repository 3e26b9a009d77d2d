#pragma once
// Reads HuggingFace's Trainer (transformers/training_args.py), Accelerate's configuration, and LLaMA-Factory and
// axolotl, which are built on them.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

std::vector<LaunchReader> huggingface_readers();
const std::vector<UnreadKeys>& trainer_unread();

}  // namespace lockstep::sim::launch
