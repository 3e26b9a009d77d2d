#include "sim/split/software_memory.hpp"

#include <stdexcept>

#include "engine/base/text.hpp"

namespace lockstep::sim::split {
namespace {

double state_bytes(Optimizer optimizer) {
  return kSingleBytes * model::update_arrays(optimizer).state;
}

ParameterBytes usual_bytes(const ParallelSpec& spec, const SoftwareMemory& software) {
  const Optimizer optimizer = software.optimizer;
  if (software.has_half_state) return half_parameter_bytes(optimizer);
  const bool adds_up_in_single = software.sent_gradient_bytes == kSingleBytes;
  if (activation_bytes(software.precision) == kSingleBytes)
    return parameter_bytes(software.precision, optimizer, adds_up_in_single);
  switch (spec.keeping) {
    case StateKeeping::mixed:
    case StateKeeping::mixed_torch:
      return parameter_bytes(software.precision, optimizer, adds_up_in_single);
    case StateKeeping::single_gradients:
    case StateKeeping::megatron_core:
    case StateKeeping::nanotron:
      return parameter_bytes(software.precision, optimizer, true);
    case StateKeeping::autocast:
    case StateKeeping::fsdp:
      return fsdp_parameter_bytes(optimizer);
    case StateKeeping::deepspeed:
      return adds_up_in_single ? deepspeed_bf16_parameter_bytes(optimizer) : deepspeed_parameter_bytes(optimizer);
    case StateKeeping::hai_llm:
      return hai_llm_parameter_bytes(optimizer);
    case StateKeeping::internevo:
      return internevo_parameter_bytes(optimizer, spec.sharding == ShardingStage::zero3);
  }
  throw std::logic_error("a keeping without bytes");
}

// `master` counts master weights and copies of gradients; with single-precision weights there are no master weights.
ParameterBytes bytes_of(const ParallelSpec& spec, const SoftwareMemory& software) {
  ParameterBytes bytes = usual_bytes(spec, software);
  const model::KeptPrecisions& kept = software.kept;
  if (kept.state) bytes.state = bytes_of(*kept.state) * model::update_arrays(software.optimizer).state;
  if (!kept.master) return bytes;
  if (bytes.master < kSingleBytes)
    throw InputError("/compute/master_weights: this software trains weights of " + short_number(bytes.weight) +
                     " bytes without master weights; allowed: without it, or --software Megatron-LM or DeepSpeed");
  bytes.master += bytes_of(*kept.master) - kSingleBytes;
  return bytes;
}

// True for Transformer Engine and similar layers, whose GEMMs keep their inputs in the format of the multiplication.
bool keeps_inputs_as_multiplied(StateKeeping keeping) {
  return keeping == StateKeeping::single_gradients || keeping == StateKeeping::megatron_core ||
         keeping == StateKeeping::hai_llm;
}

ActivationBytes activations_of(StateKeeping keeping, Precision precision) {
  constexpr double kOfEight = 1, kOfFour = 0.5 + 1.0 / 16;
  ActivationBytes bytes(activation_bytes(precision));
  if (keeps_inputs_as_multiplied(keeping) && precision == Precision::fp8) bytes.product_input = kOfEight;
  if (keeps_inputs_as_multiplied(keeping) && precision == Precision::fp4) bytes.product_input = kOfFour;
  if (keeping == StateKeeping::hai_llm && precision == Precision::fp8) bytes.gate = kOfEight;
  if (keeping == StateKeeping::hai_llm || keeping == StateKeeping::megatron_core) bytes.experts_output = 0;
  if (keeping == StateKeeping::autocast || keeping == StateKeeping::fsdp || keeping == StateKeeping::mixed_torch)
    bytes.multiplied = bytes.element;
  if (keeping == StateKeeping::nanotron) {
    bytes.has_gathered_inputs = true;
    bytes.transposed_output = bytes.element;
  }
  return bytes;
}

LossBytes loss_of(StateKeeping keeping, bool is_in_single) {
  switch (keeping) {
    case StateKeeping::fsdp:
    case StateKeeping::autocast:
    case StateKeeping::mixed_torch:
      return is_in_single ? kTorchLoss : kFusedLoss;
    case StateKeeping::nanotron:
      return kNanotronLoss;
    default:
      return kMegatronLoss;
  }
}

}  // namespace

ParameterBytes deepspeed_parameter_bytes(Optimizer optimizer) {
  return {kHalfBytes, kHalfBytes, 2 * kSingleBytes, state_bytes(optimizer), kHalfBytes};
}

ParameterBytes hai_llm_parameter_bytes(Optimizer optimizer) {
  return {kHalfBytes, kSingleBytes, kSingleBytes, state_bytes(optimizer) / 2, kHalfBytes};
}

ParameterBytes internevo_parameter_bytes(Optimizer optimizer, bool is_fsdp) {
  const double copies = 2 * kSingleBytes, of_update = 2 * kSingleBytes + (is_fsdp ? 0 : kHalfBytes);
  return {kHalfBytes, kHalfBytes, copies + of_update, state_bytes(optimizer), kHalfBytes};
}

SplitMemoryOptions memory_options(const ParallelSpec& spec, const SoftwareMemory& software) {
  SplitMemoryOptions options;
  options.parameters = bytes_of(spec, software);
  options.activations = activations_of(spec.keeping, software.precision);
  options.keeps_empty_gradients =
      spec.keeping == StateKeeping::single_gradients || spec.keeping == StateKeeping::megatron_core;
  if (options.activations.element == kHalfBytes) options.loss = loss_of(spec.keeping, software.has_loss_in_single);
  if (software.has_loss_in_chunks) options.loss = {0, options.activations.element, true};
  options.reserved_bytes = software.reserved_bytes;
  return options;
}

double communicators_bytes(const ParallelSpec& spec) {
  double bytes = 0;
  for (const int ranks : {spec.tensor, spec.context, spec.expert, spec.pipeline, spec.data})
    if (ranks > 1) bytes += kCommunicatorBytes;
  return bytes;
}

}  // namespace lockstep::sim::split
