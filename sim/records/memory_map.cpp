// Peak memory of a GPU, by the formulas of jobs (sim/program/gpu_memory.hpp, sim/split/split_memory.hpp), with what the
// record's software keeps of a parameter.
#include "engine/base/units.hpp"
#include "sim/program/gpu_memory.hpp"
#include "sim/program/split_job.hpp"
#include "sim/records/mapping.hpp"
#include "sim/split/software_memory.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

ParameterBytes bytes_of_software(const Mapping& m, const ParallelSpec& spec, Optimizer optimizer) {
  if (m.job.has_half_parameters()) return half_parameter_bytes(optimizer);
  const std::string& kept = m.stack->parameter_bytes;
  if (kept == "fsdp" || kept == "autocast") return fsdp_parameter_bytes(optimizer);
  if (kept == "internevo") return internevo_parameter_bytes(optimizer, spec.sharding == ShardingStage::zero3);
  // Gradients travel as they are added up.
  if (kept == "deepspeed")
    return m.wire == Wire::fp32 ? deepspeed_bf16_parameter_bytes(optimizer) : deepspeed_parameter_bytes(optimizer);
  return parameter_bytes(m.precision, optimizer, kept == "single-gradients");
}

// A peak's counter, by the software that prints it.
MemoryCounter counter_of(const Mapping& m) {
  return m.job.memory_counter.value_or(m.stack->peak_memory);
}

void set_software(const Mapping& m, const Scenario& scenario, const ParallelSpec& spec, SplitMemoryOptions& options) {
  const std::string& kept = m.stack->parameter_bytes;
  if (counter_of(m) == MemoryCounter::device) options.reserved_bytes += communicators_bytes(spec);
  if (activation_bytes(m.precision) == 4) return;
  options.parameters = bytes_of_software(m, spec, scenario.compute.optimizer);
  options.keeps_empty_gradients = kept == "single-gradients";
  if (kept == "fsdp" || (kept == "autocast" && !m.stack->fused_loss)) options.loss = kTorchLoss;
}

double of_split(const Mapping& m, const RecordRun& run) {
  SplitJob job = split_job(run.scenario, run.gpus);
  set_software(m, run.scenario, job.spec, job.memory);
  const SplitMemory memory = largest_split_memory(job.shape, job.spec, job.parts, job.micro_batches, job.memory);
  switch (counter_of(m)) {
    case MemoryCounter::allocated:
      return memory.allocated_bytes();
    case MemoryCounter::reserved:
      return memory.total_bytes() - memory.reserved_bytes;
    case MemoryCounter::device:
      break;
  }
  return memory.total_bytes();
}

double of_replicas(const Mapping& m, const RecordRun& run) {
  const GpuMemory memory = gpu_memory(run.scenario, run.gpus, run.batch_per_gpu);
  return memory.total_bytes() - (counter_of(m) == MemoryCounter::device ? 0 : memory.reserved_bytes);
}

}  // namespace

void check_whole_replica(Mapping& m, const Scenario& scenario) {
  const bool is_sharded = m.job.algorithm == Algorithm::sharded || m.job.split.sharding;
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
    m.assume(
        "optimizer state", "divided over the GPUs, which exchange as much as by an all-reduce, or kept elsewhere",
        "not stated; whole, with weights and gradients, " + format_bytes(bytes.total() * parameters) + " on a " + gpu);
}

void map_memory(Mapping& m) {
  const RecordRun run = iteration_run(m, gpus_of(m), batch_of(m));
  const double bytes = run.scenario.parallel ? of_split(m, run) : of_replicas(m, run);
  if (!m.job.memory_counter) m.assume("memory_counter", name_of(counter_of(m)), "not stated; by software");
  m.result.quantity = Quantity::memory;
  m.result.estimate = {bytes, bytes, bytes};
}

}  // namespace records
}  // namespace lockstep::sim
