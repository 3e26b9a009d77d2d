#pragma once
// The gradient noise scale in a run's record (record.hpp), and as the lines that end a run.
#include <string>

#include "engine/base/json.hpp"
#include "engine/sync/noise_scale.hpp"

namespace lockstep::train {

/// {steps, blocks, gradient_square, covariance_trace, gradient_square_variance, covariance_trace_variance,
/// shared_covariance, critical_batch, low, high}; see sync/noise_scale.hpp. Null where there is no such number.
Json noise_json(const sync::GradientNoise& noise);

/// Adds `noise_scale` {steps, critical_batch, low, high}, the mean by progress over `entries` (epochs or evaluations) with
/// `images` an iteration; nothing where none has one.
void add_noise_scale(Json& to, const Json& entries, std::int64_t images);
/// Lines for a person; empty where the record has no noise scale.
std::string noise_text(const Json& record);
/// The command that takes the noise scale from the record in file `output`; empty where it would have nothing to take.
std::string noise_command_text(const Json& record, const std::string& output);

}  // namespace lockstep::train
