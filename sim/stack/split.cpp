// Sets the split of a job whose replicas span several GPUs: the scenario's /parallel.
#include <algorithm>
#include <cmath>

#include "sim/job/job_fields.hpp"
#include "sim/program/split_job.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::stack {
namespace {

constexpr int kUsualLoraRank = 16;  // as in MLPerf's Llama 2 70B

// Returns the GPUs of a replica if the job gives the micro-batches of an iteration but no split. They become tensor
// ranks of one node, as in every published configuration of this kind. 0: cannot be derived.
int tensor_of_batch(StackModel& m, int gpus) {
  const GivenSplit& split = m.job.split;
  const bool is_open = !split.has("tensor") && !split.has("pipeline") && !split.has("context") && !split.has("data");
  if (!is_open || m.job.accumulation == 0 || m.job.global_batch == 0 || gpus != m.job.gpus) return 0;
  const std::int64_t at_once = std::int64_t{gpus} * m.job.accumulation * micro_batch_or_default(m);
  const std::int64_t ranks = at_once / m.job.global_batch, most = std::max(1, m.job.gpus_per_node);
  if (at_once % m.job.global_batch != 0 || ranks < 2 || ranks > most || most % ranks != 0) return 0;
  m.assume_default("tp", ranks, "GPUs x micro-batches over the global batch");
  return static_cast<int>(ranks);
}

bool divides_into_groups(const ParallelSpec& spec, int gpus) {
  const int replicas = gpus / spec.gpus_of_replica();
  return spec.expert_replicas() > 0 && replicas % spec.expert_replicas() == 0;
}

// Keeps experts whole on tensor ranks (expert_tensor 1) if the job does not say otherwise, and if its software does so
// or replicas alone do not divide into groups of experts.
void place_experts(StackModel& m, ParallelSpec& spec, int gpus) {
  const GivenSplit& split = m.job.split;
  if (split.has("expert_tensor")) return;
  if (split.is_searched && m.stack->whole_experts) spec.expert_tensor = 1;
  if (split.is_searched || spec.tensor == 1 || spec.expert == 1) return;
  ParallelSpec folded = spec;
  folded.expert_tensor = 1;
  const bool is_possible = spec.expert % spec.tensor == 0 && divides_into_groups(folded, gpus);
  const bool is_needed = !divides_into_groups(spec, gpus);
  if (!is_possible || !(is_needed || m.stack->whole_experts)) return;
  spec = folded;
  m.assume_default("etp", 1, is_needed ? "replicas alone do not divide into groups of experts" : "by software");
}

// Returns the split on `gpus` GPUs. A given number of replicas applies only to the job's own number of GPUs.
ParallelSpec parallel_of(StackModel& m, int gpus, bool has_experts) {
  const GivenSplit& split = m.job.split;
  ParallelSpec spec;
  apply_given_split(split, spec);
  spec.tensor = std::max(spec.tensor, tensor_of_batch(m, gpus));
  if (gpus == m.job.gpus) spec.data = split.values.data;
  spec.keeping = m.stack->keeping;
  spec.partition = m.stack->partition;
  if (!split.is_searched || split.has("recompute")) spec.recompute = recomputation_of(m);
  // Without sequence parallelism, each tensor rank would send the same tokens to the experts.
  if (!split.has("sequence")) spec.sequence = (m.stack->sequence_parallel || has_experts) && spec.tensor > 1;
  if (has_experts) place_experts(m, spec, gpus);
  if (!split.has("expert_overlap")) spec.expert_overlap = m.stack->expert_overlap && spec.expert > 1;
  if (!split.has("expert_dispatch") && spec.expert > 1) spec.expert_dispatch = m.stack->expert_dispatch;
  if (!split.has("tensor_overlap")) spec.tensor_overlap = m.stack->tensor_overlap;
  if (spec.tensor == 1 && !split.is_searched) spec.tensor_overlap = TensorOverlap::none;
  if (split.task == kAdapters) spec.lora_rank = split.has("lora_rank") ? split.values.lora_rank : kUsualLoraRank;
  spec.micro_batch = micro_batch_or_default(m);
  if (!split.has("schedule") && spec.virtual_stages > 1) spec.schedule = PipelineSchedule::interleaved;
  return spec;
}

// Lists the assumptions about the exchange of experts, if the split or the search for one may use it.
void list_exchange_of_experts(StackModel& m, const ParallelSpec& spec) {
  const SplitAbilities& abilities = m.stack->splits;
  const bool is_searched = m.job.split.is_searched;
  if (spec.expert_overlap || (is_searched && abilities.overlaps_experts))
    m.assume("expert_overlap_share", spec.expert_overlap_share, "20 of 132 multiprocessors, DeepEP's default");
  const ExpertDispatch dispatch =
      is_searched && !m.job.split.has("expert_dispatch") ? abilities.expert_dispatch : spec.expert_dispatch;
  if (const double rate = dispatch_bytes_per_s(dispatch); rate > 0)
    m.inputs.assumptions.push_back({"bytes/s that a GPU passes on by " + name_of(dispatch), rate, "measured",
                                    "20 multiprocessors of H100, H200 and B200 (results/kernels)"});
}

void check_adapters(const GivenSplit& split, const ParallelSpec& spec) {
  if (spec.lora_rank > 0) return;
  for (const char* key : {"frozen_weights", "lora_target"})
    if (split.has(key) && (spec.frozen_weights != FrozenWeights::whole || spec.lora_target != LoraTarget::attention))
      throw InputError(split_option(key) + ": without adapters no weights are frozen; allowed: with --lora-rank");
}

void list_adapted_matrices(StackModel& m, const ParallelSpec& spec, bool has_experts) {
  if (spec.lora_rank == 0) return;
  if (!m.job.split.has("lora_target")) m.assume_default("lora_target", name_of(spec.lora_target), "");
  if (has_experts && spec.lora_target == LoraTarget::all)
    m.assume("adapters of experts", "none", "only those of dense matrices are modelled");
}

void assume_left_open(StackModel& m, const ParallelSpec& spec, bool has_experts) {
  const GivenSplit& split = m.job.split;
  if (spec.waits_for_shards())
    m.assume_default("slice_overhead", std::to_string(std::lround(1e6 * spec.slice_overhead_s)) + " us", "usual");
  list_adapted_matrices(m, spec, has_experts);
  if (has_experts) list_exchange_of_experts(m, spec);
  if (split.is_searched)
    return m.assume_default("split", "the fastest that fits", "values that are not given are searched");
  if (spec.tensor > 1 && !split.has("sequence"))
    m.assume_default("sequence_parallel", spec.sequence, has_experts ? "needed with experts" : "by software");
  if (spec.expert > 1 && !split.has("expert_overlap"))
    m.assume_default("expert_overlap", spec.expert_overlap, "by software");
  if (spec.expert > 1 && !split.has("expert_dispatch"))
    m.assume_default("expert_dispatch", name_of(spec.expert_dispatch), "by software");
  if (spec.tensor > 1 && !split.has("tensor_overlap"))
    m.assume_default("tensor_overlap", name_of(spec.tensor_overlap), "by software");
  if (spec.lora_rank > 0 && !split.has("lora_rank")) m.assume_default("lora_rank", spec.lora_rank, "MLPerf's");
  if (!split.has("recompute"))
    m.assume_default("recompute", name_of(spec.recompute), spec.recompute == Recomputation::none ? "" : "by software");
  else if (split.values.recompute != spec.recompute)
    m.assume("recompute", name_of(spec.recompute),
             "what " + m.stack->name + " calls " + name_of(split.values.recompute));
  if (!split.has("sharding")) m.assume_default("sharding", name_of(spec.sharding), "");
  if (spec.pipeline > 1 && !split.has("schedule")) m.assume_default("schedule", name_of(spec.schedule), "");
  if (spec.tensor * spec.context * spec.pipeline > 1 && !split.has("order"))
    m.assume("order of ranks", "tensor, context, data, pipeline", "as Megatron-LM has it");
}

// Llama 2 was trained with this batch (Touvron et al. 2023, table 1), and Llama 3.1 405B with these tokens per GPU on
// 16,384 GPUs (Llama team 2024, table 4).
constexpr std::int64_t kUsualTokensOfBatch = 4 << 20, kUsualTokensOfGpu = 1024;
// Stanford Alpaca (Taori et al. 2023) fine-tunes all weights with 128 sequences; QLoRA (Dettmers et al. 2023, table 9)
// trains adapters of 7B and 13B with 16.
constexpr std::int64_t kUsualTunedSequences = 128, kUsualAdaptedSequences = 16;

int odd_part(int number) {
  while (number > 1 && number % 2 == 0) number /= 2;
  return number;
}

std::int64_t usual_global_batch(StackModel& m) {
  const std::int64_t sequences =
      default_global_batch(m.model->tokens, m.job.gpus, m.stack->splits, m.job.split.task, m.job.accumulation);
  if (m.job.accumulation > 0)  // the search halves it (ranking_at())
    m.assume_default("global_batch", "at most " + std::to_string(sequences),
                     why_default_batch(m.job.split.task) + "; halved until micro-batches of --accumulation fit");
  else
    m.assume_default("global_batch", sequences, why_default_batch(m.job.split.task));
  return sequences;
}

std::int64_t searched_global_batch(StackModel& m, int gpus) {
  const std::int64_t sequences = batch_of_search(m.job, gpus);
  if (sequences == 0) return usual_global_batch(m);
  const std::string times = m.job.accumulation > 1 ? ", times --accumulation" : "";
  if (m.job.batch_per_gpu > 0)
    m.assume_default("global_batch", sequences, "the batch per GPU on every GPU" + times);
  else
    m.assume_default("global_batch", "the micro-batch of every replica" + times, "as many replicas as fit");
  return sequences;
}

// Returns the number of which the schedule requires a multiple of micro-batches.
int micro_batches_of_schedule(const ParallelSpec& spec) {
  if (spec.pipeline == 1) return 1;
  if (spec.schedule == PipelineSchedule::interleaved) return spec.pipeline;
  return spec.has_two_chunks() ? 2 * spec.pipeline : 1;
}

// Returns the default batch, rounded up to a multiple of the samples that all replicas and stages process at once.
std::int64_t divided_global_batch(StackModel& m, const ParallelSpec& spec, int gpus) {
  const std::int64_t replicas = std::max(1, gpus / spec.gpus_of_replica());
  const std::int64_t together = replicas * spec.micro_batch * std::int64_t{micro_batches_of_schedule(spec)};
  const std::int64_t tokens = least_default_tokens(m.model->tokens, gpus, m.job.split.task);
  const std::int64_t sequences = std::max<std::int64_t>(1, tokens / std::max(1, m.model->tokens));
  const std::int64_t batch = (sequences + together - 1) / together * together;
  m.assume_default("global_batch", batch, why_default_batch(m.job.split.task));
  return batch;
}

// Names the option that gives the batch.
std::string batch_option(const Job& job) {
  if (job.global_batch > 0) return "--global-batch";
  return job.batch_per_gpu > 0 ? "--batch" : job.accumulation > 0 ? "--accumulation" : "the default batch";
}

void set_batch(StackModel& m, ParallelSpec& spec, int gpus) {
  if (m.job.global_batch == 0 && m.job.accumulation > 0 && !m.job.split.is_searched) {
    spec.micro_batches = m.job.accumulation;
    return;
  }
  const std::int64_t sequences = m.job.global_batch > 0    ? m.job.global_batch
                                 : m.job.split.is_searched ? searched_global_batch(m, gpus)
                                                           : divided_global_batch(m, spec, gpus);
  if (sequences > kLargestGlobalBatch)
    throw InputError(batch_option(m.job) + ": " + std::to_string(sequences) + " sequences an iteration on " +
                     std::to_string(gpus) + " GPUs; allowed: up to " + std::to_string(kLargestGlobalBatch) +
                     " an iteration");
  spec.global_batch = static_cast<int>(sequences);
}

}  // namespace

std::string why_default_batch(const std::string& task) {
  const std::string end = ", a power of two times the odd part of the number of GPUs; --global-batch sets it";
  if (task == kAdapters) return "at least 16 sequences (QLoRA) and one per GPU" + end;
  if (task == kAllWeights) return "at least 128 sequences (Stanford Alpaca) and one per GPU" + end;
  return "at least 4,194,304 tokens (Llama 2) and 1,024 tokens per GPU (Llama 3.1 405B)" + end;
}

std::int64_t least_default_tokens(int sequence_tokens, int gpus, const std::string& task) {
  if (task.empty()) return std::max(kUsualTokensOfBatch, kUsualTokensOfGpu * gpus);
  return std::max<std::int64_t>(task == kAdapters ? kUsualAdaptedSequences : kUsualTunedSequences, gpus) *
         sequence_tokens;
}

std::int64_t batch_of_search(const Job& job, int gpus) {
  if (job.global_batch > 0) return job.global_batch;
  const std::int64_t steps = std::max(1, job.accumulation);
  if (job.batch_per_gpu > 0) return std::int64_t{gpus} * job.batch_per_gpu * steps;
  if (job.accumulation == 0 || !job.split.has("micro_batch")) return 0;
  ParallelSpec given;
  apply_given_split(job.split, given);
  return std::max(1, gpus / given.gpus_of_replica()) * std::int64_t{job.split.values.micro_batch} * steps;
}

std::int64_t default_global_batch(int sequence_tokens, int gpus, const SplitAbilities& splits, const std::string& task,
                                  int accumulation) {
  const std::int64_t tokens = least_default_tokens(sequence_tokens, gpus, task);
  const bool splits_replicas = splits.has(ParallelDimension::tensor) || splits.has(ParallelDimension::context) ||
                               splits.has(ParallelDimension::pipeline);
  std::int64_t sequences = std::int64_t{splits_replicas ? odd_part(gpus) : gpus} * std::max(1, accumulation);
  while (sequences * sequence_tokens < tokens) sequences *= 2;
  return sequences;
}

bool is_split(const Job& job) {
  const GivenSplit& split = job.split;
  if (split.is_searched || split.is_requested || split.divides_replicas()) return true;
  if (split.has("data") && job.gpus > 0 && split.values.data != job.gpus) return true;
  const ShardingStage sharding = split.values.sharding;
  if (sharding == ShardingStage::zero1 || sharding == ShardingStage::zero2) return true;
  if (split.has("sharding_group") && split.values.sharding_group != job.gpus) return true;
  return split.task == kAdapters || split.values.offloads_optimizer || split.values.offload_layers > 0 ||
         !split.unsupported_offload.empty() || split.values.recompute != Recomputation::none;
}

Recomputation recomputation_of(const StackModel& m) {
  const Recomputation stated = m.job.split.has("recompute") ? m.job.split.values.recompute : m.stack->recompute;
  return stated == Recomputation::selective ? m.stack->selective : stated;
}

int micro_batch_or_default(StackModel& m) {
  if (m.job.split.has("micro_batch")) return m.job.split.values.micro_batch;
  if (!m.job.split.is_searched) m.assume_default("microbatch", 1, "");
  return 1;
}

SplitQuestion split_question(const StackModel& m, const Scenario& scenario) {
  SplitQuestion question;
  question.stated = *scenario.parallel;
  question.fixed = fixed_keys(m.job.split);
  question.abilities = m.stack->splits;
  question.accumulation = m.job.accumulation;
  // Parts of a layer are recomputed only by "selective".
  if (m.job.split.has("recompute_modules") && question.fixed.insert("recompute").second)
    question.stated.recompute = Recomputation::selective;
  // Whole layers are recomputed only by "full".
  if (m.job.split.has("recompute_interval") && question.fixed.insert("recompute").second)
    question.stated.recompute = Recomputation::full;
  // The software's default is fixed, so it is not searched.
  if (m.stack->recompute != Recomputation::none && question.fixed.insert("recompute").second)
    question.stated.recompute = m.stack->recompute;
  return question;
}

void check_splittable(const model::Graph& graph) {
  if (!graph.transformer)
    throw NotSplittable{
        {"a split of " + graph.title + ", which is not a stack of equal transformer layers, is not modelled"}};
  const TransformerShape shape(graph.transformer->spec, graph.transformer->job);
  if (const std::string why = why_not_split(shape); !why.empty()) throw NotSplittable{{why}};
}

// True if exchanges of weights or gradients may overlap passes.
bool may_overlap_state(const StackModel& m, const CommunicationSpec& communication, const ParallelSpec& spec) {
  if (m.job.gpus == 1) return false;
  const bool scatters = static_cast<int>(spec.sharding) >= static_cast<int>(ShardingStage::zero2);
  return m.job.split.is_searched || communication.overlap || (scatters && !spec.waits_for_shards());
}

Workload with_split(StackModel& m, Workload workload) {
  const bool has_experts = workload.scenario.model.transformer->spec.mixture.count > 0;
  ParallelSpec spec = parallel_of(m, workload.gpus, has_experts);
  check_adapters(m.job.split, spec);
  set_batch(m, spec, workload.gpus);
  assume_left_open(m, spec, has_experts);
  workload = with_all_reduce(m, workload);
  Scenario& scenario = workload.scenario;
  // Other all-reduces, such as trees of hosts, require whole machines.
  if (scenario.communication.all_reduce != AllReduceKind::nccl) use_rings(scenario.communication);
  if (may_overlap_state(m, scenario.communication, spec))
    scenario.compute.overlap_slowdown = std::max(1.0, m.constant({kSlowdownByExchanges}));
  const bool may_use_all_to_all = m.job.split.is_searched || spec.expert_dispatch == ExpertDispatch::all_to_all;
  if (has_experts && may_use_all_to_all && scenario.cluster.nodes > 1 &&
      scenario.communication.all_reduce == AllReduceKind::nccl)
    scenario.communication.nccl.all_to_all_share = m.constant({kAllToAllShare});
  scenario.gpus = {workload.gpus};
  scenario.baseline_gpus = workload.gpus;
  scenario.batch = {{kMostGpus, spec.micro_batch}};
  scenario.parallel = spec;
  scenario.fidelity = Fidelity::analytic;
  workload.batch_per_gpu = spec.micro_batch;
  if (m.job.split.is_searched) return workload;
  m.list_assumed("global_batch", spec.global_batch, "global_batch");
  for (const SplitFieldName& field : split_fields())
    m.list_assumed(field.record, parallel_format().write_value(field.key, spec), chosen_key(field.key));
  if (const auto problem = find_problem(scenario))
    throw InputError(problem->pointer + ": " + problem->wrong +
                     (problem->allowed.empty() ? "" : "; " + problem->allowed));
  split_job(scenario, workload.gpus);  // throws if the job cannot be split this way
  return workload;
}

double Workload::samples() const {
  if (!scenario.parallel) return double(gpus) * batch_per_gpu;
  return static_cast<double>(global_batch_of(*scenario.parallel, gpus / scenario.parallel->gpus_of_replica()));
}

}  // namespace lockstep::sim::stack
