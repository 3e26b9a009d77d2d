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
/// Returns the memory of each stage of the task's pipeline; none without several stages.
std::vector<GpuMemory> count_stage_memories(const QuantityTask& task);
/// Writes memory_line() with a point for each number of GPUs.
std::string task_memory_line(const std::vector<const QuantityTask*>& tasks);
/// Writes fullest_stage_line() of the first task; none if tasks have several numbers of GPUs.
std::string task_stage_line(const std::vector<const QuantityTask*>& tasks);
/// Writes barely_fits_text() of the task that needs most memory.
std::string barely_fits_line(const std::vector<const QuantityTask*>& tasks);
/// Returns "8 GPUs: ..." if the iteration does not fit into a GPU's memory; else an empty text.
std::string why_not_in_memory(const QuantityPrediction& prediction);
/// Throws InputError for an iteration that does not fit into a GPU's memory.
void check_task_memory(const QuantityTask& task);

}  // namespace lockstep::sim::quantity
