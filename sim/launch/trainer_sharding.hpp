#pragma once
// Sharding, ranks and machine of trainings with HuggingFace's Trainer: FSDP, DeepSpeed and Accelerate's launcher.
#include "sim/launch/formats.hpp"

namespace lockstep::sim::launch {

/// Adds the keys of Accelerate's configuration. Options of "accelerate launch" override them.
void append_accelerate_file(LaunchSettings& settings, const ReadNamedFile& read_named);
void read_machine_of_accelerate(LaunchSettings& settings, Facts& facts);

void read_fsdp(LaunchSettings& settings, Facts& facts);
/// Reads DeepSpeed's configuration, which the settings name or contain.
void read_deepspeed_of_trainer(LaunchSettings& settings, Facts& facts, const ReadNamedFile& read_named);
/// Reads tensor, context and expert parallelism of axolotl, Accelerate and LLaMA-Factory.
void read_trainer_ranks(LaunchSettings& settings, Facts& facts);

}  // namespace lockstep::sim::launch
