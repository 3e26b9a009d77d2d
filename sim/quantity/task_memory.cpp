#include "sim/quantity/task_memory.hpp"

namespace lockstep::sim::quantity {
namespace {

// All candidates use the same amount of memory. Null: the task is no iteration.
const Workload* iteration_of(const QuantityTask& task) {
  if (!task.unmapped.empty() || task.target.empty()) return nullptr;
  const Workload& workload = task.target.front();
  return workload.kind == Workload::Kind::iteration ? &workload : nullptr;
}

GpuMemory memory_of(const Workload& workload) {
  return gpu_memory(workload.scenario, workload.gpus, workload.batch_per_gpu);
}

}  // namespace

std::optional<GpuMemory> count_task_memory(const QuantityTask& task) {
  const Workload* workload = iteration_of(task);
  if (workload == nullptr) return std::nullopt;
  return memory_of(*workload);
}

std::vector<GpuMemory> count_stage_memories(const QuantityTask& task) {
  const Workload* workload = iteration_of(task);
  return workload == nullptr ? std::vector<GpuMemory>() : stage_memories(workload->scenario, workload->gpus);
}

Assumption memory_assumption(const GpuMemory& memory) {
  return {"memory per GPU", memory_text(memory), "assumed",
          memory.fits() ? "counted part by part" : "counted part by part: more than it has, yet it ran"};
}

std::string task_memory_line(const std::vector<const QuantityTask*>& tasks) {
  std::vector<std::pair<int, GpuMemory>> points;
  for (const QuantityTask* task : tasks) {
    const Workload* workload = iteration_of(*task);
    if (workload != nullptr && (points.empty() || points.back().first != workload->gpus))
      points.emplace_back(workload->gpus, memory_of(*workload));
  }
  return memory_line(points);
}

std::string task_stage_line(const std::vector<const QuantityTask*>& tasks) {
  const Workload* first = nullptr;
  for (const QuantityTask* task : tasks) {
    const Workload* workload = iteration_of(*task);
    if (workload == nullptr) continue;
    if (first != nullptr && workload->gpus != first->gpus) return "";
    if (first == nullptr) first = workload;
  }
  return first == nullptr ? "" : fullest_stage_line(stage_memories(first->scenario, first->gpus));
}

std::string barely_fits_line(const std::vector<const QuantityTask*>& tasks) {
  GpuMemory fullest;
  for (const QuantityTask* task : tasks)
    if (const Workload* workload = iteration_of(*task))
      if (const GpuMemory memory = memory_of(*workload); memory.total_bytes() > fullest.total_bytes()) fullest = memory;
  return fullest.barely_fits() ? barely_fits_text(fullest) + "\n" : "";
}

namespace {

std::string why_not_in_memory(const Workload& workload, const GpuMemory& memory) {
  const std::string why = why_not_in_memory(workload.scenario, workload.gpus, memory);
  return why.empty() ? "" : gpus_text(workload.gpus) + ": " + why;
}

}  // namespace

std::string why_not_in_memory(const QuantityPrediction& prediction) {
  const Workload* workload = iteration_of(prediction.task);
  if (workload == nullptr) return "";
  return why_not_in_memory(*workload, prediction.memory ? *prediction.memory : memory_of(*workload));
}

void check_task_memory(const QuantityTask& task) {
  const Workload* workload = iteration_of(task);
  if (workload == nullptr) return;
  const std::string why = why_not_in_memory(*workload, memory_of(*workload));
  if (!why.empty()) throw NotEnoughMemory("simulate job: " + why + ", or --ignore-memory");
}

}  // namespace lockstep::sim::quantity
