#pragma once
// The gradient noise scale that the PyTorch probe measured (lockstep_probe.py --noise-scale), as a fact of a profile's
// device and as text of `calibrate show`.
#include <string>

#include "engine/base/json.hpp"

namespace lockstep::calib {

/// Reads and checks the probe's object: {micro_batch, micro_batches, groups, gradient_square, covariance_trace,
/// critical_batch, low, high (samples; 80 % interval), tokens_per_sample}. critical_batch and high are null if
/// undetermined; only sequences have tokens_per_sample. Throws InputError.
Json read_noise_scale(const JsonNode& node);

/// Text for people, with the next command if the unit is tokens. `facts` are those of the profile's device. Empty if no
/// noise scale was measured.
std::string noise_scale_text(const Json& facts);

}  // namespace lockstep::calib
