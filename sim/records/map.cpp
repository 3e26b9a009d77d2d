#include "sim/records/map.hpp"

#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/measure.hpp"
#include "sim/records/names.hpp"
#include "sim/records/names_in_texts.hpp"
#include "sim/records/network_text.hpp"
#include "sim/schedule/fusion.hpp"

namespace lockstep::sim {
namespace {

constexpr std::int64_t kSmallBytes = 1024, kLargeBytes = 64 << 20;  // between which alpha and beta are a line
constexpr double kImagesOfTheanoMpi = 5120;
constexpr double kUsualEvaluation = 0.03;  // of a training's time, beside its iterations

UncertaintySpec uncertainty_of(const Mapping& m, const ComputeSpec& compute, int batch) {
  UncertaintySpec u;
  double distance = 10;  // in the logarithm of the batch, to the closest given rate
  for (const RateSpec& rate : compute.rates)
    distance = std::min(distance, std::abs(std::log(double(batch) / rate.batch)));
  u.compute = compute.rates.empty() ? 0.10 : std::min(0.10, 0.02 + 0.025 * distance);
  u.bandwidth = 0.15;
  u.latency = 0.30;
  u.epochs = m.result.epochs_uncertainty;
  return u;
}

// A number in the text such as the 8 of "vs 8 GPUs" or "8 -> 256".
int number_in(const std::string& text, const char* pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? std::stoi(found[1].str()) : 0;
}

int baseline_gpus(Mapping& m) {
  for (const std::string& text : {m.record.unit, m.record.notes}) {
    if (const int versus = number_in(text, R"(vs (\d+) GPU)")) return versus;
    if (const int from = number_in(text, R"((\d+) ->)")) return from;
  }
  if (const int named = number_in(lower(m.record.metric), R"((?:vs|over)_(\d+)_gpu)")) return named;
  if (m.metric == "scaling_efficiency") m.assume("baseline", 1, "the efficiency's reference is not stated");
  return 1;
}

void set_iteration(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  m.result.target = iteration_task(m, gpus, batch);
}

void map_time_of_samples(Mapping& m) {
  set_iteration(m);
  m.result.quantity = Quantity::samples_time_s;
  const std::string& metric = m.metric;
  if (metric == "train_seconds_per_5120_images") {
    m.result.samples = kImagesOfTheanoMpi;
    for (Task& task : m.result.target) task.scenario.communication.fusion_threshold_bytes = 0;
    return;
  }
  if (metric == "epoch_seconds") {
    m.result.samples = train_samples(m);
    return;
  }
  set_epochs(m);
  for (Task& task : m.result.target) task.scenario.uncertainty.epochs = m.result.epochs_uncertainty;
  const bool is_mlperf = m.stack->id.rfind("mlperf", 0) == 0;
  // What a whole training is slower than its software's benchmarks; a rate of its own experiment has that in it.
  const bool is_measured = !m.result.target.front().scenario.compute.rates.empty();
  const char* share = is_mlperf ? "evaluation share/mlperf" : "evaluation share/training";
  const bool has_share = metric == "time_to_accuracy_s" && (is_mlperf || !is_measured);
  const double beside = has_share ? m.constant({share}, kUsualEvaluation) : 0;
  m.result.samples = m.result.epochs * train_samples(m) * (1 + beside);
}

void map_relative(Mapping& m, Quantity quantity) {
  set_iteration(m);
  m.result.quantity = quantity;
  const int gpus = baseline_gpus(m);
  const std::int64_t batch = m.result.target.front().batch_per_gpu;
  const bool is_strong = mentions(m.record.metric + m.record.notes + m.record.unit, "strong scaling") ||
                         mentions(m.record.metric, "strong_scaling");
  const std::int64_t of_baseline = is_strong ? std::max<std::int64_t>(1, batch * gpus_of(m) / gpus) : batch;
  m.result.baseline = iteration_task(m, gpus, static_cast<int>(std::min<std::int64_t>(of_baseline, 1 << 20)));
}

// Of one experiment, what an all-reduce took elsewhere.
void add_anchors(Mapping& m) {
  if (m.record.group.empty()) return;
  for (const Record& other : m.all) {
    if (other.role != Role::input || other.group != m.record.group || other.id == m.record.id) continue;
    const std::optional<double> published = si_value(other);
    if (!published || *published <= 0 || other.gpus < 2 || metric_of(other) != m.metric) continue;
    MapOptions alone = m.options;
    alone.use_anchors = false;
    const MappedRecord mapped = map_record(other, m.all, m.catalogue, alone);
    if (!mapped.unmapped.empty() || mapped.quantity != m.result.quantity || mapped.target.empty()) continue;
    if (mapped.target.front().share != m.result.target.front().share) continue;
    m.result.anchors.push_back({mapped.target, mapped.baseline, *published, other.params_bytes, other.gpus});
    m.result.assumptions.push_back({other.metric, *other.value, "published", other.id});
  }
}

// Half of a ring all-reduce scatters sums, the other half gathers them; a pipelined chain passes a whole buffer on in
// the time of half a ring's n/(n-1) parts. Bus bandwidths are those of nccl-tests: S/t times (n-1)/n, or S/t.
void set_collective(Mapping& m, int gpus) {
  if (m.collective == Collective::all_reduce) return;
  const bool is_chain = m.collective == Collective::broadcast || m.collective == Collective::reduce;
  const double parts = is_chain ? double(gpus) / (gpus - 1) : 1;
  for (Alternatives* side : {&m.result.target, &m.result.baseline})
    for (Task& task : *side) {
      task.share = 0.5 * parts;
      task.in_switch_bytes_per_s = 0;
      task.scenario.communication.all_reduce = AllReduceKind::ring;
    }
  if (m.result.quantity == Quantity::bus_bandwidth) m.result.per_si *= 0.5 * parts;
  m.assume("collective", is_chain ? "a pipelined chain" : "half of a ring all-reduce", "as NCCL does it");
}

void map_all_reduce(Mapping& m, Quantity quantity) {
  const int gpus = gpus_of(m);
  m.result.quantity = quantity;
  if (quantity == Quantity::alpha_s || quantity == Quantity::beta_s_per_byte) {
    m.result.target = all_reduce_task(m, gpus, {kSmallBytes});
    m.result.baseline = all_reduce_task(m, gpus, {kLargeBytes});
  } else {
    if (m.record.params_bytes <= 0) throw Unmapped{"params_bytes: the size of the all-reduce is not stated"};
    m.result.target = all_reduce_task(m, gpus, {static_cast<std::int64_t>(m.record.params_bytes)});
  }
  set_collective(m, gpus);
  if (m.options.use_anchors && m.options.use_rates) add_anchors(m);
}

// What an iteration takes beside its computation.
void map_exchange_of_model(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  m.result.quantity = Quantity::exchange_s;
  m.result.target = iteration_task(m, gpus, batch);
  m.result.baseline = iteration_task(m, 1, batch);
  for (Alternatives* tasks : {&m.result.target, &m.result.baseline})
    for (Task& task : *tasks) {
      task.scenario.compute.jitter = JitterKind::none;
      task.scenario.compute.rates = m.result.target.front().scenario.compute.rates;
      task.scenario.communication.overlap = false;
    }
  m.result.factor = kImagesOfTheanoMpi / (double(gpus) * batch);
}

void map_versus_nccl(Mapping& m) {
  set_iteration(m);
  m.result.quantity = Quantity::time_ratio;
  Record plain = m.record;
  plain.algorithm = m.stack->id == "jizhi" ? "NCCL ring per tensor, no fusion" : "NCCL ring (Horovod)";
  Mapping other{plain,   m.all,   m.catalogue, m.options, m.result, m.metric, m.gpu,
                m.stack, m.model, m.precision, m.wire,    "nccl",   nullptr};
  m.result.baseline = iteration_task(other, gpus_of(m), m.result.target.front().batch_per_gpu);
}

bool is_known_metric(const std::string& metric) {
  static const std::set<std::string> known{"images_per_s",
                                           "iteration_s",
                                           "epoch_seconds",
                                           "train_seconds_per_5120_images",
                                           "training_time_s",
                                           "speedup",
                                           "scaling_efficiency",
                                           "iteration_time_increase",
                                           "time_to_accuracy_s",
                                           "comm_seconds",
                                           "epochs_to_accuracy",
                                           "speedup_vs_nccl",
                                           "speedup_vs_horovod",
                                           "allreduce_busbw",
                                           "allreduce_algbw",
                                           "allreduce_seconds",
                                           "alpha_s",
                                           "beta_s_per_B"};
  return known.count(metric) > 0;
}

// Of metrics that publications have and that need what records do not say.
std::string why_not_predicted(const std::string& metric) {
  static const std::vector<std::pair<const char*, const char*>> reasons{
      {"throughput_ratio", "the learners on a GPU, and what part of it one of them can use, are not stated"},
      {"tta_", "it rests on how another software, or another number of learners, converges"},
      {"hours_sync", "neither side's iterations are given at its number of workers"},
      {"speed_ratio", "how a learning rate changes convergence is not modelled"},
      {"alltoall", "all-to-all is not simulated for records"},
      {"all_to_all", "all-to-all is not simulated for records"},
      {"flops", "it counts operations, of which publications differ"},
      {"mfu", "it counts operations, of which publications differ"},
      {"relative_throughput", "what it is relative to is not stated"},
      {"overhead", "what it is a share of, and whether hidden communication counts, is not stated"},
      {"comm", "whether communication that computation hides counts is not stated"},
      {"utilization", "a share of time with any kernel is no speed"},
      {"forward", "it leaves the update and communication out"},
      {"per_image", "a rate in images/s is predicted"},
      {"cost", "prices are not known"},
      {"top", "the accuracy that a training reaches is not modelled"},
      {"accuracy", "the accuracy that a training reaches is not modelled"},
      {"loss", "the accuracy that a training reaches is not modelled"},
      {"error", "the accuracy that a training reaches is not modelled"},
      {"speedup_upper_bound", "which bound is meant is not stated"}};
  for (const auto& [part, why] : reasons)
    if (mentions(metric, part)) return std::string(": ") + why;
  return "";
}

void map_metric(Mapping& m) {
  const std::string& metric = m.metric;
  if (metric == "images_per_s") return set_iteration(m);
  if (metric == "speedup") return map_relative(m, Quantity::speedup);
  if (metric == "scaling_efficiency") return map_relative(m, Quantity::efficiency);
  if (metric == "iteration_time_increase") return map_relative(m, Quantity::iteration_increase);
  if (metric == "comm_seconds") return map_exchange_of_model(m);
  if (metric == "allreduce_seconds") return map_all_reduce(m, Quantity::all_reduce_s);
  if (metric == "allreduce_busbw") return map_all_reduce(m, Quantity::bus_bandwidth);
  if (metric == "allreduce_algbw") return map_all_reduce(m, Quantity::algorithm_bandwidth);
  if (metric == "alpha_s") return map_all_reduce(m, Quantity::alpha_s);
  if (metric == "beta_s_per_B") return map_all_reduce(m, Quantity::beta_s_per_byte);
  if (metric.rfind("speedup_vs_", 0) == 0) return map_versus_nccl(m);
  if (metric == "epochs_to_accuracy") {
    m.result.quantity = Quantity::epochs;
    return set_epochs(m);
  }
  if (metric == "iteration_s") {
    set_iteration(m);
    m.result.quantity = Quantity::iteration_s;
    return;
  }
  map_time_of_samples(m);
}

std::string bounds_class_of(const Mapping& m) {
  const MappedRecord& r = m.result;
  switch (r.quantity) {
    case Quantity::all_reduce_s:
    case Quantity::bus_bandwidth:
    case Quantity::algorithm_bandwidth:
    case Quantity::alpha_s:
    case Quantity::beta_s_per_byte:
      return m.intra_node->is_nvlink ? "all-reduce, NVLink" : "all-reduce, PCIe";
    case Quantity::exchange_s:
      return "exchange";
    case Quantity::epochs:
      return "epochs";
    case Quantity::speedup:
    case Quantity::efficiency:
    case Quantity::time_ratio:
    case Quantity::iteration_increase:
      return "scaling";
    default:
      break;
  }
  const bool is_mlperf = m.stack->id.rfind("mlperf", 0) == 0;
  if (m.model->tokens > 0 && m.model->train_samples == 0 && r.epochs == 0)
    return std::string("sequences") + (r.target.front().scenario.compute.rates.empty() ? "" : ", anchored");
  const std::string what = r.epochs > 0 ? (is_mlperf ? "time to accuracy, MLPerf" : "time to accuracy") : "throughput";
  const bool anchored = !r.target.empty() && !r.target.front().scenario.compute.rates.empty();
  return what + (anchored ? ", anchored" : "");
}

void set_model(Mapping& m) {
  m.model = model_of(m.catalogue, m.record);
  if (m.model == nullptr) {
    const std::optional<int> tokens = tokens_stated(m.record);
    throw Unmapped{"model " + in_quotes(m.record.model) + " is not in the catalogue" +
                   (tokens ? " with sequences of " + std::to_string(*tokens) + " tokens" : "")};
  }
  if (m.model->tokens > 0 && !tokens_stated(m.record))
    m.assume("tokens of a sequence", m.model->tokens, "not stated; of " + m.model->id);
}

double tokens_of(const Mapping& m) {
  if (m.model == nullptr || m.model->tokens == 0)
    throw Unmapped{"metric " + in_quotes(m.record.metric) + ": the tokens of a sample of " + m.record.model +
                   " are not known"};
  return m.model->tokens;
}

void map_all(Mapping& m) {
  const Record& record = m.record;
  const Measure measure = measure_of(record);
  m.metric = measure.metric;
  m.collective = measure.collective;
  const bool of_workers = is_of_workers(m), of_choices = is_of_choices(m);
  if (!is_known_metric(m.metric) && !of_workers && !of_choices)
    throw Unmapped{"metric " + in_quotes(record.metric) + " is not predicted from records" +
                   why_not_predicted(m.metric)};
  if (!of_workers) refuse_other_algorithms(record);
  const bool is_of_hardware = !of_workers || mentions(m.metric, "staleness");
  const bool needs_gpu = is_of_hardware && m.metric != "epochs_to_accuracy";
  if (record.gpu.empty() && needs_gpu) throw Unmapped{"gpu is not stated"};
  m.gpu = gpu_of(m.catalogue, record);
  if (m.gpu == nullptr && needs_gpu) throw Unmapped{"gpu " + in_quotes(record.gpu) + " is not in the catalogue"};
  m.stack = &stack_of(m.catalogue, record);
  m.transport = transport_of(record);
  if (is_of_hardware && !is_of_collective(m.metric)) {
    set_model(m);
  }
  if (m.gpu != nullptr) m.precision = precision_of(m);
  m.wire = wire_of(m);
  if (of_workers) return map_workers(m);
  if (of_choices) return map_choices(m);
  map_metric(m);
  m.result.per_si *= measure.per_si / (measure.per_gpu ? std::max(1, record.gpus) : 1);
  if (measure.is_tokens) m.result.per_si *= tokens_of(m);
  if (measure.is_iterations)
    m.result.per_si /= double(m.result.target.front().gpus) * m.result.target.front().batch_per_gpu;
  m.result.bounds_class = bounds_class_of(m);
  m.result.constants.insert("bounds/" + m.result.bounds_class);
}

}  // namespace

const StackEntry& stack_of(const Catalogue& catalogue, const Record& record) {
  if (record.names) return *record.names->stack;
  return stack_in_texts(catalogue, record.source + " | " + record.system + " | " + record.algorithm);
}

const GpuEntry* gpu_of(const Catalogue& catalogue, const Record& record) {
  return record.names ? record.names->gpu : gpu_in_text(catalogue, record.gpu);
}

std::optional<int> tokens_stated(const Record& record) {
  static const std::regex length(R"((?:seq(?:uence)?s?[ _-]?(?:len(?:gth)?)?|msl)[ =:_-]*(?:of )?([0-9]{2,5}))"),
      tokens(R"(([0-9]{1,2},?[0-9]{3}|[0-9]{2,5})[ -]tokens)");
  for (const std::string& text : {record.model, record.unit, record.notes, record.algorithm})
    for (const std::regex* pattern : {&length, &tokens}) {
      const std::string small = lower(text);
      std::smatch found;
      if (!std::regex_search(small, found, *pattern)) continue;
      std::string digits = found[1].str();
      digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
      return std::stoi(digits);
    }
  return std::nullopt;
}

const ModelEntry* model_of(const Catalogue& catalogue, const Record& record) {
  if (record.names) return record.names->model;
  const std::optional<int> tokens = tokens_stated(record);
  // MLPerf calls its benchmark of image classification "resnet".
  const bool is_mlperf = stack_of(catalogue, record).id.rfind("mlperf", 0) == 0;
  const bool is_short = is_mlperf && lower(record.model) == "resnet";
  const ModelEntry* plain = model_in_text(catalogue, is_short ? "ResNet-50" : record.model);
  if (plain != nullptr && plain->tokens > 0) {
    if (!tokens || plain->tokens == *tokens) return plain;
    const ModelEntry* longer = model_in_text(catalogue, record.model + " " + std::to_string(*tokens));
    return longer != nullptr && longer->tokens == *tokens ? longer : nullptr;
  }
  if (plain != nullptr && plain->id == record.model) return plain;
  const ModelEntry* of_software = model_in_text(catalogue, record.model + " " + stack_of(catalogue, record).id);
  return of_software != nullptr && plain != nullptr ? of_software : plain;
}

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

double Mapping::constant(const std::vector<std::string>& names, double otherwise) {
  result.asked_for.emplace(names.front(), names);
  for (const std::string& name : names) {
    const bool is_new = result.constants.insert(name).second;
    const auto found = catalogue.constants.find(name);
    if (found == catalogue.constants.end()) continue;
    if (is_new)
      result.assumptions.push_back(
          {name, found->second.value, "fitted", std::to_string(found->second.records.size()) + " records"});
    return found->second.value;
  }
  assume(names.back(), otherwise, "never fitted");
  return otherwise;
}

int gpus_of(Mapping& m) {
  if (m.record.gpus > 0) return m.record.gpus;
  if (m.record.batch_per_gpu > 0 && m.record.global_batch > 0)
    return static_cast<int>(std::max<std::int64_t>(1, m.record.global_batch / m.record.batch_per_gpu));
  throw Unmapped{"gpus is not stated"};
}

Alternatives iteration_task(Mapping& m, int gpus, int batch) {
  Task task;
  task.kind = Task::Kind::iteration;
  task.gpus = gpus;
  task.batch_per_gpu = batch;
  task.scenario.name = m.record.id;
  task.scenario.ignores_memory = true;  // what was published has fitted
  task.scenario.model = graph_of(m);
  task.accumulation = accumulation_of(m, gpus, batch);
  task.scenario.compute = compute_of(m, gpus, batch);
  task.scenario.uncertainty = uncertainty_of(m, task.scenario.compute, batch);
  task.scenario.fidelity = Fidelity::analytic;
  task.scenario.iterations = 2;
  if (gpus == 1 && !copies_alone(m)) {
    task.scenario.cluster.gpu = m.gpu->spec;
    return {task};
  }
  task.scenario.cluster = cluster_of(m, gpus);
  task.scenario.communication = communication_of(m, task.scenario.cluster);
  if (task.accumulation > 1) {
    task.scenario.communication.overlap = false;
    m.assume("exchange", "behind the last micro-step", "as accumulated gradients are exchanged");
  }
  return with_schedule(m, task);
}

Alternatives all_reduce_task(Mapping& m, int gpus, const std::vector<std::int64_t>& bytes) {
  if (gpus < 2) throw Unmapped{"gpus: an all-reduce needs two"};
  Task task;
  task.kind = Task::Kind::all_reduce;
  task.gpus = gpus;
  task.bytes = bytes;
  task.scenario.cluster = cluster_of(m, gpus);
  task.scenario.communication = communication_of(m, task.scenario.cluster);
  task.scenario.uncertainty = {0, 0.15, 0.3, 0};
  const bool is_nvlink = task.scenario.cluster.intra_node.kind == IntraNodeKind::nvswitch;
  const std::string link = is_nvlink ? "nvlink" : "pcie";
  task.fill_s = m.constant({"fill/" + m.intra_node->id, "fill/" + link}, is_nvlink ? 20e-6 : 0);
  const bool one_node = task.scenario.cluster.nodes == 1;
  const bool off = mentions(m.record.algorithm, "nvls off");
  if (is_nvlink && !off && gpus > 4 && one_node) task.in_switch_bytes_per_s = m.intra_node->nvls_bytes_per_s;
  return with_algorithms(m, task);
}

MappedRecord map_record(const Record& record, const std::vector<Record>& all, const Catalogue& catalogue,
                        const MapOptions& options) {
  MappedRecord result;
  Mapping mapping{record, all, catalogue, options, result, "", nullptr, nullptr, nullptr, "", "", "", nullptr};
  try {
    map_all(mapping);
  } catch (const Unmapped& unmapped) {
    result = {};
    result.unmapped = unmapped.why;
  }
  return result;
}

}  // namespace lockstep::sim
