#include "sim/records/map.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/stated_split.hpp"
#include "sim/records/translate.hpp"
#include "sim/records/usual.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr double kImagesOfTheanoMpi = 5120;

constexpr double kOfSource = 0.10;  // by which what nobody has measured is off whatever constants say
constexpr double kMostOff = 0.5;

double bandwidth_off(const Mapping& m) {
  const double share = std::max(m.result.deviation_of("link share"), m.result.deviation_of("network share"));
  return std::min(kMostOff, std::hypot(kOfSource, share));
}

UncertaintySpec uncertainty_of(const Mapping& m, const ComputeSpec& compute, int batch) {
  UncertaintySpec u;
  double distance = 10;  // in the logarithm of the batch, to the closest given rate
  for (const RateSpec& rate : compute.rates)
    distance = std::min(distance, std::abs(std::log(double(batch) / rate.batch)));
  const double without = std::min(kMostOff, std::hypot(kOfSource, m.result.deviation_of("speed")));
  u.compute = compute.rates.empty() ? without : std::min(without, 0.02 + 0.025 * distance);
  u.bandwidth = bandwidth_off(m);
  u.latency = 0.30;
  u.epochs = m.result.epochs_uncertainty;
  return u;
}

int baseline_gpus(Mapping& m) {
  if (m.job.baseline_gpus > 0) return m.job.baseline_gpus;
  if (m.metric() == Metric::scaling_efficiency) m.assume("baseline", 1, "the efficiency's reference is not stated");
  return 1;
}

void set_iteration(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  m.result.target = {iteration_run(m, gpus, batch)};
}

// What a training takes over its iterations at the rates of benchmarks; none where these are not what it goes by, as with
// software whose rates are of its trainings. Of one that waits for its processors the slowest part is said.
std::optional<double> over_benchmark(Mapping& m) {
  if (m.stack->trains_as_measured || m.result.has_rates() || m.job.decodes_on_host || m.model->is_of_sequences())
    return std::nullopt;
  return m.constant({kTrainingOverBenchmark + std::string("/") + m.gpu->generation, kTrainingOverBenchmark});
}

// Whatever the metric: a training evaluates as it goes, which counts as so many more samples.
// MLPerf's runs start warm and evaluate every few epochs alone.
double with_evaluations(Mapping& m) {
  const std::string kind = m.job.is_mlperf() ? "/mlperf" : "/others";
  return 1 + m.constant({kEvaluationShare + kind, kEvaluationShare});
}

void map_time_of_samples(Mapping& m) {
  set_iteration(m);
  m.result.quantity = Quantity::samples_time_s;
  if (m.metric() == Metric::seconds_per_5120_images) {
    m.result.samples = kImagesOfTheanoMpi;
    for (RecordRun& run : m.result.target) run.scenario.communication.fusion_threshold_bytes = 0;
    return;
  }
  const std::optional<double> longer = over_benchmark(m);
  if (m.metric() == Metric::epoch_s) {
    m.result.samples = train_samples(m) * longer.value_or(1);
    return;
  }
  set_epochs(m);
  for (RecordRun& run : m.result.target) run.scenario.uncertainty.epochs = m.result.epochs_uncertainty;
  m.result.samples = train_samples(m) * (longer ? *longer : with_evaluations(m));
}

void map_relative(Mapping& m, Quantity quantity) {
  set_iteration(m);
  m.result.quantity = quantity;
  const int gpus = baseline_gpus(m);
  const std::int64_t batch = m.result.target.front().batch_per_gpu;
  const std::int64_t of_baseline =
      m.job.is_strong_scaling ? std::max<std::int64_t>(1, batch * gpus_of(m) / gpus) : batch;
  m.result.baseline = {iteration_run(m, gpus, static_cast<int>(std::min<std::int64_t>(of_baseline, 1 << 20)))};
}

// Of one experiment, what an all-reduce took elsewhere.
void add_anchors(Mapping& m) {
  if (m.job.group.empty()) return;
  for (const JobSpec& other : m.given) {
    if (other.group != m.job.group || other.id == m.job.id) continue;
    if (!other.value_si || *other.value_si <= 0 || other.gpus < 2 || other.measure.metric != m.metric()) continue;
    MapOptions alone = m.options;
    alone.use_anchors = false;
    const MappedRecord mapped = map_job(other, m.given, m.catalogue, alone);
    if (!mapped.unmapped.empty() || mapped.quantity != m.result.quantity || mapped.target.empty()) continue;
    if (mapped.target.front().share != m.result.target.front().share) continue;
    m.result.anchors.push_back({mapped.target, mapped.baseline, *other.value_si, other.bytes, other.gpus});
    m.use(other);
  }
}

// Half of a ring all-reduce scatters sums, the other half gathers them; a pipelined chain passes a whole buffer on in
// the time of half a ring's n/(n-1) parts. Bus bandwidths are those of nccl-tests: S/t times (n-1)/n, or S/t.
void set_collective(Mapping& m, int gpus) {
  if (m.job.measure.collective == Collective::all_reduce) return;
  const bool is_chain =
      m.job.measure.collective == Collective::broadcast || m.job.measure.collective == Collective::reduce;
  const double parts = is_chain ? double(gpus) / (gpus - 1) : 1;
  for (Alternatives* side : {&m.result.target, &m.result.baseline})
    for (RecordRun& run : *side) {
      run.share = 0.5 * parts;
      take_rings(run.scenario.communication);
    }
  if (m.result.quantity == Quantity::bus_bandwidth) m.result.per_si *= 0.5 * parts;
  m.assume("collective", is_chain ? "a pipelined chain" : "half of a ring all-reduce", "as NCCL does it");
}

void map_all_reduce(Mapping& m, Quantity quantity) {
  const int gpus = gpus_of(m);
  m.result.quantity = quantity;
  if (quantity == Quantity::alpha_s || quantity == Quantity::beta_s_per_byte) {
    m.result.target = {all_reduce_run(m, gpus, {kSmallBytes})};
    m.result.baseline = {all_reduce_run(m, gpus, {kLargeBytes})};
  } else {
    if (m.job.bytes <= 0) throw Unmapped{"params_bytes: the size of the all-reduce is not stated"};
    m.result.target = {all_reduce_run(m, gpus, {static_cast<std::int64_t>(m.job.bytes)})};
  }
  set_collective(m, gpus);
  if (m.options.use_anchors && m.options.use_rates) add_anchors(m);
}

// What an iteration takes beside its computation.
void map_exchange_of_model(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  m.result.quantity = Quantity::exchange_s;
  m.result.target = {iteration_run(m, gpus, batch)};
  m.result.baseline = {iteration_run(m, 1, batch)};
  for (Alternatives* tasks : {&m.result.target, &m.result.baseline})
    for (RecordRun& run : *tasks) {
      run.scenario.compute.jitter = JitterKind::none;
      run.scenario.compute.rates = m.result.target.front().scenario.compute.rates;
      run.scenario.communication.overlap = false;
    }
  m.result.factor = kImagesOfTheanoMpi / (double(gpus) * batch);
}

void map_versus_nccl(Mapping& m) {
  set_iteration(m);
  m.result.quantity = Quantity::time_ratio;
  JobSpec plain = m.job;
  plain.transport = Transport::nccl;
  plain.scheme.reset();
  plain.overlap.reset();
  plain.algorithm.reset();
  plain.tree_slices.reset();
  plain.is_sequential = false;
  plain.assumed.erase("algorithm");
  plain.all_reduce = AllReduceKind::ring;
  plain.fusion = m.stack->id != "jizhi";
  Mapping other{plain, m.given, m.catalogue, m.options, m.result, m.gpu, m.stack, m.model, m.precision, m.wire};
  m.result.baseline = {iteration_run(other, gpus_of(m), m.result.target.front().batch_per_gpu)};
}

// Training that is more than forward, backward and update.
std::string why_not_simulated(const JobSpec& job) {
  const SplitSpec& split = job.split;
  if (!split.task.empty() && split.task != kAdapters && split.task != kAllWeights)
    return "task " + in_quotes(split.task) + " is not known; known: " + kAdapters + ", " + kAllWeights;
  if (!split.offload.empty() && split.offload != kOffloadedOptimizer)
    return "offload " + in_quotes(split.offload) + " is not simulated; known: " + kOffloadedOptimizer;
  return "";
}

void map_metric(Mapping& m) {
  switch (m.metric()) {
    case Metric::images_per_s:
    case Metric::hardware_flops:
    case Metric::model_flops:
    case Metric::hfu:
    case Metric::mfu:
      return set_iteration(m);
    case Metric::iteration_s:
      set_iteration(m);
      m.result.quantity = Quantity::iteration_s;
      return;
    case Metric::speedup:
      return map_relative(m, Quantity::speedup);
    case Metric::scaling_efficiency:
      return map_relative(m, Quantity::efficiency);
    case Metric::iteration_time_increase:
      return map_relative(m, Quantity::iteration_increase);
    case Metric::communication_s:
      return map_exchange_of_model(m);
    case Metric::all_reduce_s:
      return map_all_reduce(m, Quantity::all_reduce_s);
    case Metric::bus_bandwidth:
      return map_all_reduce(m, Quantity::bus_bandwidth);
    case Metric::algorithm_bandwidth:
      return map_all_reduce(m, Quantity::algorithm_bandwidth);
    case Metric::alpha_s:
      return map_all_reduce(m, Quantity::alpha_s);
    case Metric::beta_s_per_byte:
      return map_all_reduce(m, Quantity::beta_s_per_byte);
    case Metric::speedup_vs_nccl:
    case Metric::speedup_vs_horovod:
      return map_versus_nccl(m);
    case Metric::peak_memory:
      return map_memory(m);
    case Metric::samples_to_accuracy:
      m.result.per_si *= train_samples(m);
      [[fallthrough]];
    case Metric::epochs_to_accuracy:
      m.result.quantity = Quantity::epochs;
      return set_epochs(m);
    case Metric::seconds_per_5120_images:
    case Metric::epoch_s:
    case Metric::training_s:
    case Metric::time_to_accuracy_s:
      return map_time_of_samples(m);
    case Metric::unknown:
    case Metric::images_per_s_nosync:
    case Metric::parameter_servers:
    case Metric::staleness:
    case Metric::arrival:
    case Metric::iterations_to_converge:
    case Metric::critical_batch:
    case Metric::best_group_size:
    case Metric::required_bandwidth:
    case Metric::bandwidth_for_linear:
    case Metric::throughput_gain_tau:
    case Metric::node_traffic:
      break;  // not predicted, or mapped by map_workers() and map_choices()
  }
  throw Unmapped{"metric " + in_quotes(m.job.record->metric) + " is not predicted from records"};
}

void set_model(Mapping& m) {
  m.model = m.job.own_model ? &m.job.own_model->entry : m.catalogue.models.with_id(m.job.model.id);
  const int tokens = m.job.shape.sequence;
  if (m.model == nullptr)
    throw Unmapped{"model " + in_quotes(m.job.model.stated) + " is not in the catalogue" +
                   (tokens > 0 ? " with sequences of " + std::to_string(tokens) + " tokens" : "") +
                   m.job.model.why_not};
  if (const std::string why = m.job.why_assumed("model"); !why.empty()) m.assume("model", m.model->id, why);
  if (const std::string why = m.job.why_assumed("layers"); !why.empty()) m.assume("layers", m.job.shape.layers, why);
  if (const std::string why = m.job.why_assumed("tokens of a sequence"); !why.empty())
    m.assume("tokens of a sequence", m.model->tokens, why);
  else if (m.model->tokens > 0 && tokens == 0 && !m.job.own_model)
    m.assume("tokens of a sequence", m.model->tokens, "not stated; of " + m.model->id);
}

void set_gpu(Mapping& m, bool is_needed) {
  if (m.job.gpu.stated.empty() && is_needed) throw Unmapped{"gpu is not stated"};
  m.gpu = m.catalogue.gpus.with_id(m.job.gpu.id);
  if (m.gpu == nullptr && is_needed)
    throw Unmapped{"gpu " + in_quotes(m.job.gpu.stated) + " is not in the catalogue" + m.job.gpu.why_not};
  if (const std::string why = m.job.why_assumed("gpu"); m.gpu != nullptr && !why.empty())
    m.assume("gpu", m.gpu->id, why);
}

void map_all(Mapping& m) {
  const JobSpec& job = m.job;
  if (!job.measure.why_not.empty()) throw Unmapped{job.measure.why_not};
  const bool of_workers = is_of_workers(m.metric());
  if (!of_workers && !job.other_algorithm.empty())
    throw Unmapped{"algorithm " + in_quotes(job.other_algorithm) + " is not mapped to a simulated one"};
  if (!of_workers && job.algorithm && (has_workers(*job.algorithm) || *job.algorithm == Algorithm::local_sgd))
    throw Unmapped{"algorithm " + in_quotes(name_of(*job.algorithm)) + " is not mapped to a simulated one"};
  const bool is_of_hardware = !of_workers || m.metric() == Metric::staleness;
  m.stack = m.catalogue.stacks.with_id(job.software.id);
  if (m.stack == nullptr)
    throw Unmapped{"software " + in_quotes(job.software.stated) + " is not in the catalogue" + job.software.why_not};
  if (const std::string why = job.why_assumed("software"); !why.empty()) m.assume("software", m.stack->name, why);
  if (const std::string why = why_not_simulated(job); !why.empty()) throw Unmapped{why};
  set_gpu(m, is_of_hardware && !is_of_epochs(m.metric()));
  if (is_of_hardware && !is_of_collective(m.metric())) set_model(m);
  if (m.gpu != nullptr) m.precision = precision_of(m);
  m.wire = wire_of(m);
  m.result.bytes = job.bytes;
  if (of_workers) return map_workers(m);
  if (is_of_choices(m.metric())) return map_choices(m);
  map_metric(m);
  set_unit(m);
  m.result.bounds_class = bounds_class_of(m);
  m.result.constants.insert("bounds/" + m.result.bounds_class);
}

std::string rests_on(const Constant& constant) {
  const std::size_t sources = constant.sources.size();
  return "a factor; " + std::to_string(constant.records) + " records of " +
         (sources == 1 ? "one source alone, " + constant.sources.front() : std::to_string(sources) + " sources");
}

}  // namespace

void Mapping::assume(const std::string& key, const Json& value, const std::string& source) {
  for (const Assumption& known : result.assumptions)
    if (known.pointer == key && known.value == value) return;
  result.assumptions.push_back({key, value, "assumed", source});
}

void Mapping::note(const std::string& key, const std::vector<Assumption>& facts) {
  for (const Assumption& fact : facts) {
    const std::string name =
        key + ": " + fact.pointer.substr(fact.pointer.find('/', fact.pointer.find('/', 1) + 1) + 1);
    const bool is_new = std::none_of(result.assumptions.begin(), result.assumptions.end(),
                                     [&](const Assumption& known) { return known.pointer == name; });
    if (is_new) result.assumptions.push_back({name, fact.value, fact.kind, fact.source});
  }
}

double Mapping::constant(const std::vector<std::string>& names) {
  result.asked_for.emplace(names.front(), names);
  const UsualValue& usual = usual_of(names.back());
  double value = usual.value, variance = 0;
  bool is_fitted = false;
  for (const std::string& name : names) {
    const bool is_new = result.constants.insert(name).second;
    const auto found = catalogue.constants.find(name);
    const double before = name == names.back() ? usual.spread : usual_of(name).spread_of_narrower;
    variance += std::pow(found == catalogue.constants.end() ? before : found->second.deviation, 2);
    if (found == catalogue.constants.end()) continue;
    is_fitted = true;
    value *= found->second.value;
    if (is_new) result.assumptions.push_back({name, found->second.value, "fitted", rests_on(found->second)});
  }
  result.variances[names.back()] = variance;
  if (!is_fitted) assume(names.back(), usual.value, "never fitted; " + usual.source);
  return options.keeps_limits ? std::min(value, usual.most) : value;
}

void Mapping::use(const JobSpec& other) {
  result.uses_results = true;
  result.assumptions.push_back({other.record->metric, *other.value, "published", other.id});
}

int gpus_of(Mapping& m) {
  if (m.job.gpus > 0) return m.job.gpus;
  if (m.job.batch_per_gpu > 0 && m.job.global_batch > 0)
    return static_cast<int>(std::max<std::int64_t>(1, m.job.global_batch / m.job.batch_per_gpu));
  throw Unmapped{"gpus is not stated"};
}

namespace {

void set_input(Mapping& m, InputSpec& input) {
  if (const std::string why = m.job.why_assumed("input"); !m.model->is_of_sequences() && !why.empty())
    m.assume("input", "never waited for", why);
  if (!m.job.decodes_on_host) return;
  if (m.model->is_of_sequences() || is_split(m.job))
    throw Unmapped{"decodes_on_host: " + m.model->id +
                   " is split or has no images; allowed: whole replicas of networks of "
                   "images"};
  input.samples_per_s_per_node = m.constant({std::string(kDecodedImages) + "/" + m.stack->id, kDecodedImages});
}

}  // namespace

RecordRun iteration_run(Mapping& m, int gpus, int batch) {
  RecordRun run;
  run.kind = RecordRun::Kind::iteration;
  run.gpus = gpus;
  run.batch_per_gpu = batch;
  run.scenario.name = m.job.id;
  run.scenario.ignores_memory = true;  // what was published has fitted
  run.scenario.model = graph_of(m);
  run.accumulation = is_split(m.job) ? 1 : accumulation_of(m, gpus, batch);
  run.scenario.compute = compute_of(m, gpus, batch);
  run.scenario.uncertainty = uncertainty_of(m, run.scenario.compute, batch);
  run.scenario.fidelity = m.options.fidelity;
  if (m.options.fidelity == Fidelity::analytic) run.scenario.iterations = 2;  // each is as long as the next
  if (m.options.needs_room && !is_split(m.job)) check_whole_replica(m, run.scenario);
  set_input(m, run.scenario.input);
  if (gpus == 1 && !copies_alone(m) && !is_split(m.job) && !m.job.decodes_on_host) {
    run.scenario.cluster.gpu = m.gpu->spec;
    return run;
  }
  run.scenario.cluster = cluster_of(m, gpus);
  run.scenario.communication = communication_of(m, run.scenario.cluster);
  if (run.accumulation > 1) {
    run.scenario.communication.overlap = false;
    m.assume("exchange", "behind the last micro-step", "as accumulated gradients are exchanged");
  }
  return is_split(m.job) ? with_split(m, run) : with_schedule(m, run);
}

RecordRun all_reduce_run(Mapping& m, int gpus, const std::vector<std::int64_t>& bytes) {
  if (gpus < 2) throw Unmapped{"gpus: an all-reduce needs two"};
  RecordRun run;
  run.kind = RecordRun::Kind::all_reduce;
  run.gpus = gpus;
  run.bytes = bytes;
  run.scenario.cluster = cluster_of(m, gpus);
  run.scenario.communication = communication_of(m, run.scenario.cluster);
  run.scenario.uncertainty = {0, bandwidth_off(m), 0.3, 0};
  return with_all_reduce(m, run);
}

double MappedRecord::deviation_of(const std::string& prefix) const {
  double sum = 0;
  for (const auto& [name, variance] : variances)
    if (name.rfind(prefix, 0) == 0) sum += variance;
  return std::sqrt(sum);
}

MappedRecord map_job(const JobSpec& job, const std::vector<JobSpec>& given, const Catalogue& catalogue,
                     const MapOptions& options) {
  MappedRecord result;
  Mapping mapping{job, given, catalogue, options, result};
  try {
    map_all(mapping);
  } catch (const Unmapped& unmapped) {
    result = {};
    result.unmapped = unmapped.why;
  } catch (const InputError& refused) {  // by the model, of this record alone
    result = {};
    result.unmapped = refused.what();
  }
  return result;
}

std::vector<JobSpec> given_jobs(const std::vector<Record>& records, const Catalogue& catalogue) {
  std::vector<JobSpec> jobs;
  for (const Record& record : records)
    if (record.role == Role::input) jobs.push_back(job_of(record, catalogue));
  std::sort(jobs.begin(), jobs.end(), [](const JobSpec& a, const JobSpec& b) { return a.id < b.id; });
  return jobs;
}

}  // namespace records
}  // namespace lockstep::sim
