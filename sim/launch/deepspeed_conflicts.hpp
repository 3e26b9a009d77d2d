#pragma once
// Contradictions within DeepSpeed's configuration, and between it and the arguments of the program that loads it.
#include "sim/launch/facts.hpp"

namespace lockstep::sim::launch {

/// The key under which DeepSpeed's gradient_accumulation_steps is kept, because the program's arguments have a key of
/// that name, too.
inline constexpr const char* kAccumulationOfDeepspeed = "deepspeed gradient_accumulation_steps";

/// Throws InputError with both places if the numbers of arguments and configuration differ, or if the global batch is
/// not micro-batch x accumulation x replicas. HuggingFace's Trainer and DeepSpeed refuse the same. The product needs the
/// number of GPUs: call this after the ranks are read.
void refuse_conflicting_batches(LaunchSettings& settings, const Facts& facts);

/// Throws InputError with both places if bf16 and fp16 are both on, or if either is on in the arguments and off in
/// DeepSpeed's configuration, or the reverse.
void refuse_conflicting_precisions(LaunchSettings& settings);

}  // namespace lockstep::sim::launch
