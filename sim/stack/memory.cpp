// Computes a GPU's peak memory as a given counter reports it, by sim/program/gpu_memory.hpp and
// sim/split/split_memory.hpp.
#include "engine/base/units.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/program/split_job.hpp"
#include "sim/split/software_memory.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::stack {
namespace {

double peak_of_split(const Workload& workload, MemoryCounter counter) {
  SplitJob job = split_job(workload.scenario, workload.gpus);
  if (counter == MemoryCounter::device) job.memory.reserved_bytes += communicators_bytes(job.spec);
  const SplitMemory memory = largest_split_memory(job.shape, job.spec, job.parts, job.micro_batches, job.memory);
  switch (counter) {
    case MemoryCounter::allocated:
      return memory.allocated_bytes();
    case MemoryCounter::reserved:
      return memory.total_bytes() - memory.reserved_bytes;
    case MemoryCounter::device:
      break;
  }
  return memory.total_bytes();
}

double peak_of_replicas(const Workload& workload, MemoryCounter counter) {
  const GpuMemory memory = gpu_memory(workload.scenario, workload.gpus, workload.batch_per_gpu);
  return memory.total_bytes() - (counter == MemoryCounter::device ? 0 : memory.reserved_bytes);
}

}  // namespace

void check_whole_replica(StackModel& m, const Scenario& scenario) {
  const bool is_sharded = m.job.algorithm == Algorithm::sharded || m.job.split.has("sharding");
  if (m.model->tokens == 0 || is_sharded) return;
  const Optimizer optimizer = scenario.compute.optimizer;
  const ParameterBytes bytes =
      m.job.has_half_parameters() ? half_parameter_bytes(optimizer) : parameter_bytes(m.precision, optimizer, false);
  const double parameters = static_cast<double>(scenario.model.parameter_count());
  const double room_bytes = m.gpu->spec.memory_bytes, passes_bytes = (bytes.weight + bytes.gradient) * parameters;
  const std::string gpu = m.gpu->name + " of " + format_bytes(room_bytes);
  if (passes_bytes > room_bytes)
    throw Unmapped{"a whole replica is stated, or nothing else, and its weights and gradients alone need " +
                   format_bytes(passes_bytes) + " on a " + gpu + "; needed: tp, pp or sharding"};
  if (bytes.total() * parameters > room_bytes)
    m.assume_default("optimizer state",
                     "divided over the GPUs, which exchange as much as by an all-reduce, or kept elsewhere",
                     "whole, with weights and gradients, " + format_bytes(bytes.total() * parameters) + " on a " + gpu);
}

double peak_memory_bytes(const Workload& workload, MemoryCounter counter) {
  return workload.scenario.parallel ? peak_of_split(workload, counter) : peak_of_replicas(workload, counter);
}

}  // namespace lockstep::sim::stack
