#pragma once
// Counts the memory that predicted workloads need on a GPU (sim/program/gpu_memory.hpp).
#include <optional>
#include <string>
#include <vector>

#include "sim/program/gpu_memory.hpp"
#include "sim/quantity/quantity_prediction.hpp"

namespace lockstep::sim::quantity {

/// Returns the memory of the task's iteration; none if the task is not an iteration of a training.
std::optional<GpuMemory> count_task_memory(const QuantityTask& task);
/// Returns the memory as an input that the prediction uses unchecked.
Assumption memory_assumption(const GpuMemory& memory);
/// Writes memory_line() with a point for each number of GPUs.
std::string task_memory_line(const std::vector<const QuantityTask*>& tasks);
/// Writes barely_fits_text() of the task that needs most memory.
std::string barely_fits_line(const std::vector<const QuantityTask*>& tasks);
/// Returns "8 GPUs: ..." if the iteration does not fit into a GPU's memory; else an empty text.
std::string why_not_in_memory(const QuantityTask& task);
/// Throws InputError for an iteration that does not fit into a GPU's memory.
void check_task_memory(const QuantityTask& task);

}  // namespace lockstep::sim::quantity
