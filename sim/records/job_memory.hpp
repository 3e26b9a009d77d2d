#pragma once
// What predicted jobs and records need of a GPU's memory (sim/program/gpu_memory.hpp).
#include <optional>
#include <string>
#include <vector>

#include "sim/records/job.hpp"

namespace lockstep::sim {
inline namespace records {

/// What is known of it, as an input that a prediction rests on without having checked it; none where it is not known.
std::optional<Assumption> assumed_memory(const Prediction& prediction);
/// As memory_json() has it, of the GPUs that a prediction is about; null where it is not about iterations of a
/// training.
Json prediction_memory(const Prediction& prediction);
/// As memory_line() has it, a point for each number of GPUs.
std::string job_memory_line(const std::vector<Prediction>& predictions);
/// Refuses a job that does not fit, unless it ignores memory: throws InputError.
void check_job_memory(const Job& job, const std::vector<Prediction>& predictions);

}  // namespace records
}  // namespace lockstep::sim
