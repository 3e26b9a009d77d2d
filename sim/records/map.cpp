#include "sim/records/map.hpp"

#include <algorithm>
#include <cmath>
#include <regex>

#include "engine/base/text.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/names.hpp"
#include "sim/records/network_text.hpp"
#include "sim/schedule/fusion.hpp"

namespace lockstep::sim {
namespace {

constexpr std::int64_t kSmallBytes = 1024, kLargeBytes = 64 << 20;  // between which alpha and beta are a line
constexpr double kImagesOfTheanoMpi = 5120;
constexpr std::int64_t kRingBytes = 16'000'000;  // hybrid: rings for fully-connected layers, groups for the rest
constexpr int kChainSlices = 24;                 // of reduce and broadcast in a node: enough to fill the chain

// What is not synchronous SGD that averages every gradient is not simulated for records.
void refuse_other_algorithms(const Record& record) {
  for (const char* word : {"async", "1-bit", "backup", "sma", "ea-sgd", "sync, n=", "sfb", "sparse", "model parallel",
                           "statistics", "simulated"})
    if (mentions(record.algorithm, word))
      throw Unmapped{"algorithm " + in_quotes(record.algorithm) + " is not mapped to a simulated one"};
}

bool is_of_collective(const std::string& metric) {
  return metric == "allreduce_seconds" || metric == "allreduce_busbw" || metric == "alpha_s" ||
         metric == "beta_s_per_B";
}

bool has_servers(const Mapping& m) {
  return m.transport == "ps-host" || m.transport == "ps-gpu" || m.transport == "kvstore";
}

std::vector<std::string> algorithms_of(const Mapping& m, const ClusterSpec& cluster) {
  const std::string& text = m.record.algorithm;
  const bool many_nodes = cluster.nodes > 1;
  if (!many_nodes) return {"ring"};
  if (mentions(text, "torus")) return {"torus"};
  if (has_servers(m) || m.transport == "mpi-gpu" || m.transport == "mpi-host")
    return {cluster.gpus_per_node > 1 && !is_of_collective(m.record.metric) ? "hierarchical" : "halving-doubling"};
  if (mentions(text, "hierarchical") && mentions(text, "hybrid")) return {"hybrid"};
  if (mentions(text, "hierarchical")) return {"hierarchical"};
  if (mentions(text, "hybrid") && m.stack->all_reduce == "hybrid") return {"hybrid"};
  if (mentions(text, "ring")) return {"ring"};
  const bool has_trees = m.gpu->spec.fp16_flops > 50e12;  // NCCL 2.4 and later, which came after V100
  if (has_trees) return {"ring", "double-binary-tree"};
  return {m.stack->all_reduce == "node-hierarchical" ? "hierarchical" : "ring"};
}

std::int64_t fusion_bytes(Mapping& m) {
  const std::string& text = m.record.algorithm;
  if (mentions(text, "no fusion") || mentions(text, "per tensor")) return 0;
  if (m.record.metric == "comm_seconds") return 0;
  m.note("algorithm", m.stack->facts);
  return static_cast<std::int64_t>(m.stack->fusion_bytes);
}

bool overlaps(const Mapping& m) {
  const std::string& text = m.record.algorithm;
  for (const char* word : {"no overlap", "sequential", "not overlapped", "host-staged", "alltoall", "tree reduce"})
    if (mentions(text, word)) return false;
  return m.stack->overlap;
}

CommunicationSpec communication_of(Mapping& m, const ClusterSpec& cluster) {
  CommunicationSpec spec;
  spec.wire = m.wire;
  spec.fusion_threshold_bytes = fusion_bytes(m);
  spec.overlap = overlaps(m);
  spec.group_size = m.stack->id == "jizhi" ? 16 : std::max(1, cluster.gpus_per_node);
  spec.hybrid_threshold_bytes = kRingBytes;
  spec.chain_slices = kChainSlices;
  spec.torus_columns = cluster.gpus_per_node;
  const std::string kind = cluster.intra_node.kind == IntraNodeKind::nvswitch ? "/nvlink" : "/pcie";
  const std::string place = cluster.nodes > 1 ? "/network" : "/" + m.intra_node->id;
  spec.message_overhead_s = m.constant({"message/" + m.transport + place, "message" + kind}, 5e-6);
  spec.launch_overhead_s = m.constant({"call/" + m.transport + place, "call" + kind}, 30e-6);
  return spec;
}

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

Alternatives with_algorithms(const Mapping& m, const Task& task) {
  Alternatives tasks;
  for (const std::string& algorithm : algorithms_of(m, task.scenario.cluster)) {
    tasks.push_back(task);
    tasks.back().scenario.communication.all_reduce = algorithm;
  }
  return tasks;
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
  if (m.record.metric == "scaling_efficiency") m.assume("baseline", 1, "the efficiency's reference is not stated");
  return 1;
}

double seconds_of_unit(const std::string& unit) {
  const std::string word = unit.substr(0, unit.find_first_of(" ("));
  if (word == "s" || word.empty()) return 1;
  if (word == "ms") return 1e-3;
  if (word == "us") return 1e-6;
  if (word == "min") return 60;
  if (word == "h") return 3600;
  throw Unmapped{"unit " + in_quotes(unit) + " is not one of time; known: s, ms, us, min, h"};
}

void set_iteration(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  m.result.target = iteration_task(m, gpus, batch);
}

void map_time_of_samples(Mapping& m) {
  set_iteration(m);
  m.result.quantity = Quantity::samples_time_s;
  const std::string& metric = m.record.metric;
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
  const double beside = metric == "time_to_accuracy_s" && is_mlperf ? m.constant({"evaluation share/mlperf"}, 0.03) : 0;
  m.result.samples = m.result.epochs * train_samples(m) * (1 + beside);
}

void map_relative(Mapping& m, Quantity quantity) {
  set_iteration(m);
  m.result.quantity = quantity;
  m.result.baseline = iteration_task(m, baseline_gpus(m), m.result.target.front().batch_per_gpu);
}

// Of one experiment, what an all-reduce took elsewhere.
void add_anchors(Mapping& m) {
  if (m.record.group.empty()) return;
  for (const Record& other : m.all) {
    if (other.role != Role::input || other.group != m.record.group || other.metric != m.record.metric) continue;
    if (!other.value || *other.value <= 0 || other.gpus < 2 || other.id == m.record.id) continue;
    MapOptions alone = m.options;
    alone.use_anchors = false;
    const MappedRecord mapped = map_record(other, m.all, m.catalogue, alone);
    if (!mapped.unmapped.empty() || mapped.quantity != m.result.quantity) continue;
    m.result.anchors.push_back({mapped.target, mapped.baseline, *other.value, other.params_bytes, other.gpus});
    m.result.assumptions.push_back({other.metric, *other.value, "published", other.id});
  }
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
  if (m.options.use_anchors && m.options.use_rates) add_anchors(m);
}

void map_exchange_of_model(Mapping& m) {
  const int gpus = gpus_of(m), batch = batch_of(m);
  std::vector<std::int64_t> bytes;
  for (const Bucket& bucket : fuse_gradients(model::zoo_graph(m.model->id), m.wire == "fp16" ? 2 : 4, 0))
    bytes.push_back(bucket.bytes);
  m.result.quantity = Quantity::all_reduce_s;
  m.result.target = all_reduce_task(m, gpus, bytes);
  m.result.factor = kImagesOfTheanoMpi / (double(gpus) * batch);
}

void map_versus_nccl(Mapping& m) {
  set_iteration(m);
  m.result.quantity = Quantity::time_ratio;
  Record plain = m.record;
  plain.algorithm = m.stack->id == "jizhi" ? "NCCL ring per tensor, no fusion" : "NCCL ring (Horovod)";
  Mapping other{plain,   m.all,   m.catalogue, m.options, m.result, m.gpu,
                m.stack, m.model, m.precision, m.wire,    "nccl",   nullptr};
  m.result.baseline = iteration_task(other, gpus_of(m), m.result.target.front().batch_per_gpu);
}

bool is_known_metric(const std::string& metric) {
  static const std::set<std::string> known{"images_per_s",
                                           "iteration_s",
                                           "train_seconds_per_5120_images",
                                           "epoch_seconds",
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
                                           "allreduce_seconds",
                                           "alpha_s",
                                           "beta_s_per_B"};
  return known.count(metric) > 0;
}

void map_metric(Mapping& m) {
  const std::string& metric = m.record.metric;
  if (metric == "images_per_s") return set_iteration(m);
  if (metric == "speedup") return map_relative(m, Quantity::speedup);
  if (metric == "scaling_efficiency") return map_relative(m, Quantity::efficiency);
  if (metric == "iteration_time_increase") return map_relative(m, Quantity::iteration_increase);
  if (metric == "comm_seconds") return map_exchange_of_model(m);
  if (metric == "allreduce_seconds") return map_all_reduce(m, Quantity::all_reduce_s);
  if (metric == "allreduce_busbw") return map_all_reduce(m, Quantity::bus_bandwidth);
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
    case Quantity::alpha_s:
    case Quantity::beta_s_per_byte:
      return std::string(m.intra_node->is_nvlink ? "all-reduce, NVLink" : "all-reduce, PCIe") +
             (r.anchors.empty() ? "" : ", anchored");
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
  const std::string what = r.epochs > 0 ? (is_mlperf ? "time to accuracy, MLPerf" : "time to accuracy") : "throughput";
  const bool anchored = !r.target.empty() && !r.target.front().scenario.compute.rates.empty();
  return what + (anchored ? ", anchored" : "");
}

void check_unit(const Mapping& m) {
  const Quantity q = m.result.quantity;
  if (q == Quantity::bus_bandwidth && m.record.unit != "GB/s" && !m.record.unit.empty())
    throw Unmapped{"unit " + in_quotes(m.record.unit) + " of " + m.record.metric + "; known: GB/s"};
  if (q == Quantity::all_reduce_s || q == Quantity::iteration_s || q == Quantity::samples_time_s)
    (void)seconds_of_unit(m.record.unit);
  if (q == Quantity::images_per_s && !m.record.unit.empty() && !mentions(m.record.unit, "/s"))
    throw Unmapped{"unit " + in_quotes(m.record.unit) + " of images_per_s; known: images/s"};
}

void map_all(Mapping& m) {
  const Record& record = m.record;
  if (!is_known_metric(record.metric))
    throw Unmapped{"metric " + in_quotes(record.metric) + " is not predicted from records"};
  refuse_other_algorithms(record);
  if (record.gpus == 1 && mentions(record.algorithm, "ps") && mentions(record.algorithm, "not overlapped"))
    throw Unmapped{"copies between a GPU and its parameter server in host memory are not mapped"};
  if (record.gpu.empty() && record.metric != "epochs_to_accuracy") throw Unmapped{"gpu is not stated"};
  m.gpu = m.catalogue.gpu(record.gpu);
  if (m.gpu == nullptr && record.metric != "epochs_to_accuracy")
    throw Unmapped{"gpu " + in_quotes(record.gpu) + " is not in the catalogue"};
  m.stack = &m.catalogue.stack(record.source + " | " + record.system + " | " + record.algorithm);
  m.transport = transport_of(record);
  if (!is_of_collective(record.metric)) {
    m.model = m.catalogue.model(record.model);
    if (m.model == nullptr) throw Unmapped{"model " + in_quotes(record.model) + " is not in the catalogue"};
  }
  if (m.gpu != nullptr) m.precision = precision_of(m);
  m.wire = wire_of(m);
  map_metric(m);
  check_unit(m);
  m.result.bounds_class = bounds_class_of(m);
  m.result.constants.insert("bounds/" + m.result.bounds_class);
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

std::string transport_of(const Record& record) {
  const std::string& text = record.algorithm;
  const auto any = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return mentions(text, word); });
  };
  if (any({"mpi_allreduce", "host-staged", "osu"})) return "mpi-host";
  if (any({"alltoall", "cuda-aware"})) return "mpi-gpu";
  if (any({"kvstore", "dist_device", "dist_sync"})) return "kvstore";
  if (any({"ps on gpu"})) return "ps-gpu";
  const std::vector<std::string> words = words_of(text);
  const bool servers = std::count(words.begin(), words.end(), "ps") > 0;
  if (servers || any({"parameter_server", "parameter server", "distributed_replicated", "without nccl", "servers"}))
    return "ps-host";
  if (any({"baidu"})) return "baidu-ring";
  return "nccl";
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
  task.scenario.model = model::zoo_graph(m.model->id);
  task.scenario.compute = compute_of(m, gpus, batch);
  task.scenario.uncertainty = uncertainty_of(m, task.scenario.compute, batch);
  task.scenario.fidelity = "analytic";
  task.scenario.iterations = 2;
  if (gpus == 1) {
    task.scenario.cluster.gpu = m.gpu->spec;
    return {task};
  }
  task.scenario.cluster = cluster_of(m, gpus);
  task.scenario.communication = communication_of(m, task.scenario.cluster);
  return with_algorithms(m, task);
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
  Mapping mapping{record, all, catalogue, options, result, nullptr, nullptr, nullptr, "", "", "", nullptr};
  try {
    map_all(mapping);
  } catch (const Unmapped& unmapped) {
    result = {};
    result.unmapped = unmapped.why;
  }
  return result;
}

}  // namespace lockstep::sim
