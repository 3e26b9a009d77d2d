#include "sim/split/software_memory.hpp"

namespace lockstep::sim::split {
namespace {

double state_bytes(Optimizer optimizer) {
  return kSingleBytes * model::update_arrays(optimizer).state;
}

}  // namespace

ParameterBytes deepspeed_parameter_bytes(Optimizer optimizer) {
  return {kHalfBytes, kHalfBytes, 2 * kSingleBytes, state_bytes(optimizer), kHalfBytes};
}

ParameterBytes internevo_parameter_bytes(Optimizer optimizer, bool is_fsdp) {
  const double copies = 2 * kSingleBytes, of_update = 2 * kSingleBytes + (is_fsdp ? 0 : kHalfBytes);
  return {kHalfBytes, kHalfBytes, copies + of_update, state_bytes(optimizer), kHalfBytes};
}

double communicators_bytes(const ParallelSpec& spec) {
  double bytes = 0;
  for (const int ranks : {spec.tensor, spec.context, spec.expert, spec.pipeline, spec.data})
    if (ranks > 1) bytes += kCommunicatorBytes;
  return bytes;
}

}  // namespace lockstep::sim::split
