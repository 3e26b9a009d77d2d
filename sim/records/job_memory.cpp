#include "sim/records/job_memory.hpp"

#include "sim/program/gpu_memory.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

// Of several ways of which the fastest is taken all hold the same; null: no iteration.
const RecordRun* iteration_of(const Prediction& prediction) {
  if (!prediction.is_mapped() || prediction.mapped.target.empty()) return nullptr;
  const RecordRun& task = prediction.mapped.target.front();
  return task.kind == RecordRun::Kind::iteration ? &task : nullptr;
}

GpuMemory memory_of(const RecordRun& task) {
  return gpu_memory(task.scenario, task.gpus, task.batch_per_gpu);
}

}  // namespace

Json prediction_memory(const Prediction& prediction) {
  const RecordRun* task = iteration_of(prediction);
  return task == nullptr ? Json() : memory_json(memory_of(*task));
}

std::optional<Assumption> assumed_memory(const Prediction& prediction) {
  const RecordRun* task = iteration_of(prediction);
  if (task == nullptr) return std::nullopt;
  const GpuMemory memory = memory_of(*task);
  return Assumption{"memory per GPU", memory_text(memory), "assumed",
                    memory.fits() ? "counted part by part" : "counted part by part: more than it has, yet it ran"};
}

std::string job_memory_line(const std::vector<Prediction>& predictions) {
  std::vector<std::pair<int, GpuMemory>> points;
  for (const Prediction& prediction : predictions) {
    const RecordRun* task = iteration_of(prediction);
    if (task != nullptr && (points.empty() || points.back().first != task->gpus))
      points.emplace_back(task->gpus, memory_of(*task));
  }
  return memory_line(points);
}

void check_job_memory(const Job& job, const std::vector<Prediction>& predictions) {
  if (job.ignores_memory) return;
  for (const Prediction& prediction : predictions) {
    const RecordRun* task = iteration_of(prediction);
    if (task == nullptr) continue;
    const std::string why = why_not_in_memory(task->scenario, task->gpus, memory_of(*task));
    if (!why.empty())
      throw InputError("simulate job: " + std::to_string(task->gpus) + (task->gpus == 1 ? " GPU: " : " GPUs: ") + why +
                       ", or --ignore-memory");
  }
}

}  // namespace records
}  // namespace lockstep::sim
