// Jobs whose replicas are split over GPUs: the scenario's /parallel.
#include <algorithm>
#include <cmath>

#include "sim/program/split_job.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/stated_split.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr int kUsualLoraRank = 16;  // of MLPerf's Llama 2 70B

// GPUs of a replica that a record leaves open where it says how many micro-batches a replica's part of the batch is; within
// a node tensor ranks, as every published configuration has them first. 0: it does not follow.
int tensor_of_batch(Mapping& m, int gpus) {
  const SplitSpec& split = m.job.split;
  const bool is_open = split.tensor + split.pipeline + split.context + split.data == 0;
  if (!is_open || m.job.accumulation == 0 || m.job.global_batch == 0 || gpus != m.job.gpus) return 0;
  const std::int64_t at_once = std::int64_t{gpus} * m.job.accumulation * micro_batch_of(m);
  const std::int64_t ranks = at_once / m.job.global_batch, most = std::max(1, m.job.gpus_per_node);
  if (at_once % m.job.global_batch != 0 || ranks < 2 || ranks > most || most % ranks != 0) return 0;
  m.assume("tp", ranks, "not stated; GPUs x micro-batches over the global batch");
  return static_cast<int>(ranks);
}

bool divides_into_groups(const ParallelSpec& spec, int gpus) {
  const int replicas = gpus / spec.gpus_of_replica();
  return spec.expert_replicas() > 0 && replicas % spec.expert_replicas() == 0;
}

// Where it is not stated, by software, or because groups of replicas alone would not come out even.
void place_experts(Mapping& m, ParallelSpec& spec, int gpus) {
  const SplitSpec& split = m.job.split;
  if (split.expert_tensor > 0 || split.is_searched || spec.tensor == 1 || spec.expert == 1) return;
  ParallelSpec folded = spec;
  folded.expert_tensor = 1;
  const bool is_possible = spec.expert % spec.tensor == 0 && divides_into_groups(folded, gpus);
  const bool is_needed = !divides_into_groups(spec, gpus);
  if (!is_possible || !(is_needed || m.stack->whole_experts)) return;
  spec = folded;
  m.assume("etp", 1,
           is_needed ? "not stated; replicas alone do not divide into groups of experts" : "not stated; by software");
}

// Of so many GPUs; what is stated of replicas holds at the job's own number.
ParallelSpec parallel_of(Mapping& m, int gpus, bool has_experts) {
  const SplitSpec& split = m.job.split;
  ParallelSpec spec;
  take_stated(split, spec);
  spec.tensor = std::max(spec.tensor, tensor_of_batch(m, gpus));
  if (gpus == m.job.gpus) spec.data = split.data;
  if (!split.is_searched) spec.recompute = recomputation_of(m);
  // Tensor ranks with the same tokens would send each to the experts.
  if (!split.sequence_parallel) spec.sequence = (m.stack->sequence_parallel || has_experts) && spec.tensor > 1;
  if (has_experts) place_experts(m, spec, gpus);
  if (!split.tensor_overlap) spec.tensor_overlap = m.stack->tensor_overlap;
  if (spec.tensor == 1 && !split.is_searched) spec.tensor_overlap = TensorOverlap::none;
  if (split.task == kAdapters) spec.lora_rank = split.lora_rank > 0 ? split.lora_rank : kUsualLoraRank;
  spec.micro_batch = micro_batch_of(m);
  if (!split.schedule && spec.virtual_stages > 1) spec.schedule = PipelineSchedule::interleaved;
  return spec;
}

void assume_left_open(Mapping& m, const ParallelSpec& spec, bool has_experts) {
  const SplitSpec& split = m.job.split;
  if (split.is_searched)
    return m.assume("split", "the fastest that fits", "not stated; what is left open of it is searched");
  if (spec.tensor > 1 && !split.sequence_parallel)
    m.assume("sequence_parallel", spec.sequence,
             has_experts ? "not stated; needed with experts" : "not stated; by software");
  if (spec.tensor > 1 && !split.tensor_overlap)
    m.assume("tensor_overlap", name_of(spec.tensor_overlap), "not stated; by software");
  if (spec.lora_rank > 0 && split.lora_rank == 0) m.assume("lora_rank", spec.lora_rank, "not stated; MLPerf's");
  if (!split.recompute)
    m.assume("recompute", name_of(spec.recompute),
             spec.recompute == Recomputation::none ? "not stated" : "not stated; by software");
  else if (*split.recompute != spec.recompute)
    m.assume("recompute", name_of(spec.recompute), "what " + m.stack->name + " calls " + name_of(*split.recompute));
  if (!split.sharding) m.assume("sharding", name_of(spec.sharding), "not stated");
  if (spec.waits_for_shards())
    m.assume("slice_overhead", std::to_string(std::lround(1e6 * spec.slice_overhead_s)) + " us", "not stated; usual");
  if (spec.pipeline > 1 && !split.schedule) m.assume("schedule", name_of(spec.schedule), "not stated");
  if (spec.tensor * spec.context * spec.pipeline > 1 && !split.order)
    m.assume("order of ranks", "tensor, context, data, pipeline", "as Megatron-LM has it");
}

// As Llama 2 was trained (Touvron et al. 2023, table 1).
constexpr int kUsualTokensOfBatch = 4 << 20;

int usual_global_batch(Mapping& m) {
  const int sequences = std::max(1, kUsualTokensOfBatch / std::max(1, m.model->tokens));
  m.assume("global_batch", sequences, "not stated; 4,194,304 tokens, as Llama 2 was trained");
  return sequences;
}

void set_batch(Mapping& m, ParallelSpec& spec) {
  if (m.job.global_batch > 0 && m.job.global_batch <= (1 << 28))
    spec.global_batch = static_cast<int>(m.job.global_batch);
  else if (m.job.accumulation > 0)
    spec.micro_batches = m.job.accumulation;
  else if (m.job.split.is_searched)
    spec.global_batch = usual_global_batch(m);
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
  return split.task == kAdapters || !split.offload.empty() ||
         split.recompute.value_or(Recomputation::none) != Recomputation::none;
}

Recomputation recomputation_of(const Mapping& m) {
  const Recomputation stated = m.job.split.recompute.value_or(m.stack->recompute);
  return stated == Recomputation::selective ? m.stack->selective : stated;
}

int micro_batch_of(Mapping& m) {
  if (m.job.split.microbatch > 0) return m.job.split.microbatch;
  if (!m.job.split.is_searched) m.assume("microbatch", 1, "not stated");
  return 1;
}

RecordRun with_split(Mapping& m, RecordRun run) {
  if (!run.scenario.model.transformer)
    throw Unmapped{"a split of " + run.scenario.model.title + ", which is no transformer by its numbers"};
  const bool has_experts = run.scenario.model.transformer->spec.mixture.count > 0;
  ParallelSpec spec = parallel_of(m, run.gpus, has_experts);
  set_batch(m, spec);
  assume_left_open(m, spec, has_experts);
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
  if (m.job.split.is_searched) return run;
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
