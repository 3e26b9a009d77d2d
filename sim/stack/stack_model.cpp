#include "sim/stack/stack_model.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/log.hpp"
#include "engine/base/text.hpp"
#include "sim/program/nccl_system.hpp"
#include "sim/scenario/algorithm_traits.hpp"
#include "sim/stack/priors.hpp"

namespace lockstep::sim::stack {
namespace {

constexpr double kUnmeasuredError = 0.10;  // error of unmeasured inputs, in addition to the constants' deviations
constexpr double kLargestError = 0.5;
constexpr double kLatencyError = 0.30;

double bandwidth_error(const Inputs& inputs) {
  const double share = std::max(inputs.deviation_of("link share"), inputs.deviation_of("network share"));
  return std::min(kLargestError, std::hypot(kUnmeasuredError, share));
}

UncertaintySpec uncertainty_of(const Inputs& inputs, const ComputeSpec& compute, int batch, bool is_measured) {
  UncertaintySpec u;
  double distance = 10;  // to the closest measured rate, as a difference of logarithms of batches
  for (const RateSpec& rate : compute.rates)
    distance = std::min(distance, std::abs(std::log(double(batch) / rate.batch)));
  const double without = std::min(kLargestError, std::hypot(kUnmeasuredError, inputs.deviation_of("speed")));
  u.compute = !is_measured ? without : std::min(without, 0.02 + 0.025 * distance);
  u.bandwidth = bandwidth_error(inputs);
  u.latency = kLatencyError;
  return u;
}

std::string rests_on(const Constant& constant) {
  const std::size_t sources = constant.sources.size();
  return "a factor; " + std::to_string(constant.records) + " records of " +
         (sources == 1 ? "one source alone, " + constant.sources.front() : std::to_string(sources) + " sources");
}

void set_input(StackModel& m, InputSpec& input) {
  if (!m.model->is_of_sequences()) m.list_assumed("input", "never waited for", "input");
  if (!m.job.decodes_on_host) return;
  if (m.model->is_of_sequences() || is_split(m.job))
    throw InputError("decodes_on_host: " + m.model->id +
                     " is split or has no images; allowed: whole replicas of networks of images");
  input.samples_per_s_per_node =
      m.constant({std::string(kDecodedImages) + "/" + m.stack->constants_id(), kDecodedImages});
}

// Refuses trainings with parts other than forward pass, backward pass and update.
std::string why_not_simulated(const GivenSplit& split) {
  if (!split.task.empty() && split.task != kAdapters && split.task != kAllWeights)
    return "task " + in_quotes(split.task) + " is not known; known: " + kAdapters + ", " + kAllWeights;
  if (!split.unsupported_offload.empty())
    return "offload " + in_quotes(split.unsupported_offload) + " is not simulated; known: optimizer";
  return "";
}

}  // namespace

void Inputs::assume(const std::string& key, const Json& value, const std::string& source) {
  for (const Assumption& known : assumptions)
    if (known.pointer == key && known.value == value) return;
  if (is_logged(LogLevel::debug)) write_log(LogLevel::debug, "assumed " + key + " " + value.dump() + ": " + source);
  assumptions.push_back({key, value, "assumed", source});
}

void Inputs::assume_default(const std::string& key, const Json& value, const std::string& reason) {
  assume(key, value, default_reason(reason));
  defaults.insert(key);
}

double Inputs::deviation_of(const std::string& prefix) const {
  double sum = 0;
  for (const auto& [name, variance] : variances)
    if (name.rfind(prefix, 0) == 0) sum += variance;
  return std::sqrt(sum);
}

bool StackModel::list_assumed(const std::string& name, const Json& value, const std::string& key) {
  const std::string why = job.why_assumed(key);
  if (why.empty()) return false;
  assume(name, value, why);
  if (job.defaulted.count(key) > 0) inputs.defaults.insert(name);
  return true;
}

void StackModel::note(const std::string& key, const std::vector<Assumption>& facts) {
  for (const Assumption& fact : facts) {
    const std::string name =
        key + ": " + fact.pointer.substr(fact.pointer.find('/', fact.pointer.find('/', 1) + 1) + 1);
    const bool is_new = std::none_of(inputs.assumptions.begin(), inputs.assumptions.end(),
                                     [&](const Assumption& known) { return known.pointer == name; });
    if (is_new) inputs.assumptions.push_back({name, fact.value, fact.kind, fact.source});
  }
}

double StackModel::constant(const std::vector<std::string>& names) {
  inputs.asked_for.emplace(names.front(), names);
  const Prior& prior = prior_of(names.back());
  double value = prior.value, variance = 0;
  bool is_fitted = false;
  for (const std::string& name : names) {
    const bool is_new = inputs.constants.insert(name).second;
    const auto found = catalogue.constants.find(name);
    const double before = name == names.back() ? prior.spread : prior_of(name).narrower_spread;
    variance += std::pow(found == catalogue.constants.end() ? before : found->second.deviation, 2);
    if (found == catalogue.constants.end()) continue;
    is_fitted = true;
    value *= found->second.value;
    if (is_new) inputs.assumptions.push_back({name, found->second.value, "fitted", rests_on(found->second)});
  }
  inputs.variances[names.back()] = variance;
  if (!is_fitted) assume(names.back(), prior.value, "never fitted; " + prior.source);
  return options.clamps_constants ? std::min(value, prior.most) : value;
}

namespace {

void find_software(StackModel& m) {
  const Job& job = m.job;
  m.stack = m.catalogue.stacks.with_id(job.software.id);
  if (m.stack == nullptr)
    throw Unmapped{"software " + in_quotes(job.software.stated) + " is not in the catalogue" + job.software.why_not};
  m.list_assumed("software", m.stack->name, "software");
  if (const std::string why = why_not_simulated(job.split); !why.empty()) throw Unmapped{why};
}

void find_gpu(StackModel& m, bool is_needed) {
  if (m.job.gpu.stated.empty() && is_needed) throw Unmapped{"gpu is not stated"};
  m.gpu = m.catalogue.gpus.with_id(m.job.gpu.id);
  if (m.gpu == nullptr && is_needed)
    throw Unmapped{"gpu " + in_quotes(m.job.gpu.stated) + " is not in the catalogue" + m.job.gpu.why_not};
  if (m.gpu != nullptr) m.list_assumed("gpu", m.gpu->id, "gpu");
}

void find_model(StackModel& m) {
  m.model = m.job.own_model ? &m.job.own_model->entry : m.catalogue.models.with_id(m.job.model.id);
  const int tokens = m.job.shape.sequence;
  if (m.model == nullptr)
    throw Unmapped{"model " + in_quotes(m.job.model.stated) + " is not in the catalogue" +
                   (tokens > 0 ? " with sequences of " + std::to_string(tokens) + " tokens" : "") +
                   m.job.model.why_not};
  m.list_assumed("model", m.model->id, "model");
  m.list_assumed("layers", m.job.shape.layers, "layers");
  if (m.list_assumed("tokens of a sequence", m.model->tokens, "tokens of a sequence")) return;
  if (m.model->tokens > 0 && tokens == 0 && !m.job.own_model)
    m.assume_default("tokens of a sequence", m.model->tokens, "of " + m.model->id);
}

}  // namespace

void find_entries(StackModel& m, NeededEntries needed) {
  find_software(m);
  find_gpu(m, needed.gpu);
  if (needed.model) find_model(m);
  if (m.gpu != nullptr) m.precision = precision_of(m);
  m.wire = wire_of(m);
}

int gpus_of(const StackModel& m) {
  if (m.job.gpus > 0) return m.job.gpus;
  if (m.job.batch_per_gpu > 0 && m.job.global_batch > 0)
    return static_cast<int>(std::max<std::int64_t>(1, m.job.global_batch / m.job.batch_per_gpu));
  throw Unmapped{"gpus is not stated"};
}

namespace {

constexpr int kMostMicroSteps = 128;  // that one replay may simulate

}  // namespace

namespace {

// Only transformers: the published slowdown is theirs (priors.cpp), and the constants of other networks' scaling hold it.
bool is_slowed_by_exchanges(const StackModel& m, const Scenario& scenario, int gpus) {
  return gpus > 1 && m.model->tokens > 0 && scenario.communication.overlap &&
         scenario.communication.all_reduce == AllReduceKind::nccl && traits_of(scenario.algorithm).has_kernels_beside;
}

// Computes the factor of SplitLinks::slowdown() for a ring over all GPUs.
double slowdown_by_exchanges(StackModel& m, const Scenario& scenario, int gpus) {
  const NcclSystem system = nccl_system(scenario.cluster, scenario.communication.nccl, gpus);
  return std::max(1.0, m.constant({kSlowdownByExchanges})) *
         slowdown_by(thread_blocks(system, NcclAlgorithm::ring), scenario.cluster.gpu.multiprocessors);
}

}  // namespace

Workload iteration_workload(StackModel& m, int gpus, int batch) {
  Workload workload;
  workload.kind = Workload::Kind::iteration;
  workload.gpus = gpus;
  workload.batch_per_gpu = batch;
  Scenario& scenario = workload.scenario;
  scenario.ignores_memory = true;  // published jobs did fit
  scenario.model = graph_of(m);
  scenario.name = scenario.model.title;
  if (is_split(m.job)) check_splittable(scenario.model);
  workload.accumulation = is_split(m.job) ? 1 : accumulation_of(m, gpus, batch);
  scenario.compute = compute_of(m, gpus, batch);
  scenario.uncertainty =
      uncertainty_of(m.inputs, scenario.compute, batch, !scenario.compute.rates.empty() && !m.job.has_carried_rate());
  scenario.fidelity = m.options.fidelity;
  if (m.options.fidelity == Fidelity::analytic) scenario.iterations = 2;  // all iterations take equally long
  if (m.options.needs_room && !is_split(m.job)) check_whole_replica(m, scenario);
  set_input(m, scenario.input);
  if (gpus == 1 && !m.options.has_machine && !copies_to_server(m) && !is_split(m.job) && !m.job.decodes_on_host) {
    scenario.cluster.gpu = m.gpu->spec;
    return workload;
  }
  scenario.cluster = cluster_of(m, gpus);
  scenario.communication = communication_of(m, scenario.cluster);
  if (workload.accumulation > 1 && m.job.algorithm != Algorithm::sharded) {
    scenario.communication.overlap = false;
    m.assume("exchange", "behind the last micro-step", "as accumulated gradients are exchanged");
  }
  if (is_split(m.job)) return with_split(m, workload);
  workload = with_exchange(m, workload);
  if (is_slowed_by_exchanges(m, workload.scenario, gpus))
    workload.scenario.compute.overlap_slowdown = slowdown_by_exchanges(m, workload.scenario, gpus);
  if (!traits_of(workload.scenario.algorithm).accumulates) return workload;
  // Replaying many micro-steps takes long. Without sharding, their time is added in closed form.
  const bool is_sharded = workload.scenario.algorithm == Algorithm::sharded;
  if (is_sharded && workload.accumulation > kMostMicroSteps)
    throw InputError("--accumulation: " + std::to_string(workload.accumulation) +
                     " sharded micro-steps; allowed: up to " + std::to_string(kMostMicroSteps) +
                     ", by a larger --micro-batch");
  if (workload.accumulation <= kMostMicroSteps) workload.scenario.communication.accumulation = workload.accumulation;
  return workload;
}

Workload all_reduce_workload(StackModel& m, int gpus, const std::vector<std::int64_t>& bytes) {
  if (gpus < 2) throw Unmapped{"gpus: an all-reduce needs two"};
  Workload workload;
  workload.kind = Workload::Kind::all_reduce;
  workload.gpus = gpus;
  workload.bytes = bytes;
  workload.scenario.cluster = cluster_of(m, gpus);
  workload.scenario.communication = communication_of(m, workload.scenario.cluster);
  workload.node_line_bytes_per_s = m.node_line_bytes_per_s;
  workload.scenario.uncertainty = {0, bandwidth_error(m.inputs), kLatencyError, 0};
  return with_all_reduce(m, workload);
}

}  // namespace lockstep::sim::stack
