#pragma once
// The gradient noise scale that the PyTorch probe measured (lockstep_probe.py --noise-scale): as a fact of a profile's
// device, and as lines of `calibrate show`.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// The probe's object, checked: {micro_batch, micro_batches, groups, gradient_square, covariance_trace, critical_batch,
/// low, high (samples; 80 % interval), tokens_per_sample}. critical_batch and high are null where they are not
/// determined; tokens_per_sample is there for sequences of tokens only. Throws InputError.
Json read_noise_scale(const JsonNode& node);

/// Lines for a person, with the next command where the unit is tokens. `facts` are those of the profile's device. Empty
/// where no noise scale was measured.
std::string noise_scale_text(const Json& facts);

}  // namespace lockstep::calib
