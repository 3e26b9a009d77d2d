#pragma once
// The gradient noise scale in a run's record (record.hpp), and the lines about it at the end of a run.
#include <string>

#include "engine/base/json.hpp"
#include "engine/sync/noise_scale.hpp"

namespace lockstep::train {

/// Returns {steps, blocks, gradient_square, covariance_trace, gradient_square_variance, covariance_trace_variance,
/// shared_covariance, critical_batch, low, high}; see sync/noise_scale.hpp. Undetermined numbers are null.
Json noise_json(const sync::GradientNoise& noise);

/// Adds `noise_scale` {steps, critical_batch, low, high}, the mean by progress over `entries` (epochs or evaluations),
/// with `images` per iteration. Adds nothing if no entry has a noise scale.
void add_noise_scale(Json& to, const Json& entries, std::int64_t images);
/// Text for people; empty if the record has no noise scale.
std::string noise_text(const Json& record);
/// The command that reads the noise scale from the record in file `output`; empty if the record has none.
std::string noise_command_text(const Json& record, const std::string& output);

}  // namespace lockstep::train
