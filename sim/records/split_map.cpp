// Jobs whose replicas are split over GPUs: the scenario's /parallel.
#include <algorithm>

#include "sim/program/split_job.hpp"
#include "sim/records/mapping.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

// Of so many GPUs; what is stated of replicas holds at the job's own number.
ParallelSpec parallel_of(Mapping& m, int gpus) {
  const SplitSpec& split = m.job.split;
  ParallelSpec spec;
  spec.tensor = std::max(1, split.tensor);
  spec.pipeline = std::max(1, split.pipeline);
  spec.context = std::max(1, split.context);
  spec.expert = std::max(1, split.expert);
  spec.virtual_stages = std::max(1, split.virtual_stages);
  if (gpus == m.job.gpus) spec.data = split.data;
  spec.sharding = split.sharding.value_or(ShardingStage::none);
  spec.sharding_group = split.sharding_group;
  spec.recompute = split.recompute.value_or(Recomputation::none);
  spec.sequence = split.sequence_parallel.value_or(false);
  spec.micro_batch = micro_batch_of(m);
  spec.schedule =
      split.schedule.value_or(spec.virtual_stages > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b);
  return spec;
}

void assume_left_open(Mapping& m, const ParallelSpec& spec) {
  const SplitSpec& split = m.job.split;
  if (spec.tensor > 1 && !split.sequence_parallel) m.assume("sequence_parallel", false, "not stated");
  if (!split.recompute) m.assume("recompute", name_of(spec.recompute), "not stated");
  if (!split.sharding) m.assume("sharding", name_of(spec.sharding), "not stated");
  if (spec.pipeline > 1 && !split.schedule) m.assume("schedule", name_of(spec.schedule), "not stated");
  if (spec.tensor * spec.context * spec.pipeline > 1)
    m.assume("order of ranks", "tensor, context, data, pipeline", "as Megatron-LM has it");
}

void set_batch(const Mapping& m, ParallelSpec& spec) {
  if (m.job.global_batch > 0 && m.job.global_batch <= (1 << 28))
    spec.global_batch = static_cast<int>(m.job.global_batch);
  else if (m.job.accumulation > 0)
    spec.micro_batches = m.job.accumulation;
  else
    throw Unmapped{"global_batch is not stated, which a split's micro-batches come from"};
}

}  // namespace

bool is_split(const JobSpec& job) {
  const SplitSpec& split = job.split;
  if (split.is_asked || std::max({split.tensor, split.pipeline, split.context, split.expert}) > 1) return true;
  if (split.data > 0 && job.gpus > 0 && split.data != job.gpus) return true;
  if (split.sharding == ShardingStage::zero1 || split.sharding == ShardingStage::zero2) return true;
  if (split.sharding_group > 0 && split.sharding_group != job.gpus) return true;
  return split.recompute.value_or(Recomputation::none) != Recomputation::none;
}

int micro_batch_of(Mapping& m) {
  if (m.job.split.microbatch > 0) return m.job.split.microbatch;
  m.assume("microbatch", 1, "not stated");
  return 1;
}

RecordRun with_split(Mapping& m, RecordRun run) {
  if (!run.scenario.model.transformer)
    throw Unmapped{"a split of " + run.scenario.model.title + ", which is no transformer by its numbers"};
  ParallelSpec spec = parallel_of(m, run.gpus);
  set_batch(m, spec);
  assume_left_open(m, spec);
  run = with_all_reduce(m, run);
  Scenario& scenario = run.scenario;
  // Rings of hosts, trees and the like are of whole machines.
  if (scenario.communication.all_reduce != AllReduceKind::nccl) take_rings(scenario.communication);
  scenario.gpus = {run.gpus};
  scenario.baseline_gpus = run.gpus;
  scenario.batch = {{kMostGpus, spec.micro_batch}};
  scenario.parallel = spec;
  scenario.fidelity = Fidelity::analytic;
  run.batch_per_gpu = spec.micro_batch;
  if (const auto problem = find_problem(scenario))
    throw Unmapped{problem->pointer + ": " + problem->wrong +
                   (problem->allowed.empty() ? "" : "; " + problem->allowed)};
  try {
    split_job(scenario, run.gpus);
  } catch (const InputError& error) {
    throw Unmapped{error.what()};
  }
  return run;
}

double RecordRun::samples() const {
  if (!scenario.parallel) return double(gpus) * batch_per_gpu;
  return static_cast<double>(global_batch_of(*scenario.parallel, gpus / scenario.parallel->gpus_of_replica()));
}

}  // namespace records
}  // namespace lockstep::sim
