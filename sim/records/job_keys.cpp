#include "sim/records/job_keys.hpp"

#include <algorithm>
#include <cstdio>
#include <type_traits>

#include "engine/base/text.hpp"
#include "sim/catalogue/name_index.hpp"
#include "sim/records/job_names.hpp"
#include "sim/records/measure.hpp"
#include "sim/records/stated_split.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr Range kCount{1, 1 << 20}, kLarge{1, 1e15}, kShare{1e-6, 1};

// Every key once, with its limits: `a` is read or written, copied to `b`.
template <class Visit, class Job, class Other>
void each_key(Visit& visit, Job& a, Other& b) {
  visit("software", a.software, b.software);
  visit("model", a.model, b.model);
  visit("gpu", a.gpu, b.gpu);
  visit("link", a.link, b.link);
  visit("network", a.network, b.network);
  visit("collective", a.measure.collective, b.measure.collective);
  visit("bytes", a.bytes, b.bytes, kLarge);
  visit("seq", a.shape.sequence, b.shape.sequence, Range{1, 1 << 24});
  visit("params", a.shape.parameters, b.shape.parameters, kLarge);
  visit("layers", a.shape.layers, b.shape.layers, Range{1, 10000});
  visit("hidden", a.shape.hidden, b.shape.hidden, kCount);
  visit("heads", a.shape.heads, b.shape.heads, Range{1, 10000});
  visit("vocab", a.shape.vocabulary, b.shape.vocabulary, Range{1, 1 << 24});
  visit("precision", a.precision, b.precision);
  visit("accumulation", a.accumulation, b.accumulation, kCount);
  visit("optimizer", a.optimizer, b.optimizer);
  visit("fused_attention", a.fused_attention, b.fused_attention);
  visit("fast_convolutions", a.fast_convolutions, b.fast_convolutions);
  visit("channels_last", a.channels_last, b.channels_last);
  visit("decodes_on_host", a.decodes_on_host, b.decodes_on_host);
  visit("causal_flops", a.has_causal_flops, b.has_causal_flops);
  visit("epochs", a.epochs, b.epochs, Range{1e-3, 1e6});
  visit("algorithm", a.algorithm, b.algorithm);
  visit("other_algorithm", a.other_algorithm, b.other_algorithm);
  visit("transport", a.transport, b.transport);
  visit("all_reduce", a.all_reduce, b.all_reduce);
  visit("wire", a.wire, b.wire);
  visit("overlap", a.overlap, b.overlap);
  visit("fusion", a.fusion, b.fusion);
  visit("tree_slices", a.tree_slices, b.tree_slices, Range{1, 10000});
  visit("in_switch", a.in_switch, b.in_switch);
  visit("scheme", a.scheme, b.scheme);
  visit("sequential", a.is_sequential, b.is_sequential);
  visit("whole_tensors", a.places_tensors, b.places_tensors);
  visit("tau", a.tau, b.tau, Range{1, 1 << 20});
  visit("aggregated", a.aggregated, b.aggregated, kCount);
  visit("tp", a.split.tensor, b.split.tensor, kCount);
  visit("pp", a.split.pipeline, b.split.pipeline, kCount);
  visit("dp", a.split.data, b.split.data, kCount);
  visit("cp", a.split.context, b.split.context, kCount);
  visit("ep", a.split.expert, b.split.expert, kCount);
  visit("etp", a.split.expert_tensor, b.split.expert_tensor, kCount);
  visit("virtual_stages", a.split.virtual_stages, b.split.virtual_stages, Range{1, 10000});
  visit("microbatch", a.split.microbatch, b.split.microbatch, Range{1, 1 << 24});
  visit("sharding", a.split.sharding, b.split.sharding);
  visit("sharding_group", a.split.sharding_group, b.split.sharding_group, kCount);
  visit("sharding_calls", a.split.sharding_calls, b.split.sharding_calls);
  visit("recompute", a.split.recompute, b.split.recompute);
  visit("sequence_parallel", a.split.sequence_parallel, b.split.sequence_parallel);
  visit("schedule", a.split.schedule, b.split.schedule);
  visit("tensor_overlap", a.split.tensor_overlap, b.split.tensor_overlap);
  visit("expert_overlap", a.split.expert_overlap, b.split.expert_overlap);
  visit("context_exchange", a.split.context_exchange, b.split.context_exchange);
  visit("expert_capacity", a.split.expert_capacity, b.split.expert_capacity, Range{0.1, 1000});
  visit("expert_imbalance", a.split.expert_imbalance, b.split.expert_imbalance, Range{1, 1000});
  visit("lora_rank", a.split.lora_rank, b.split.lora_rank, Range{1, 65536});
  visit("offload", a.split.offload, b.split.offload);
  visit("task", a.split.task, b.split.task);
  visit("baseline", a.baseline_gpus, b.baseline_gpus, kCount);
  visit("strong_scaling", a.is_strong_scaling, b.is_strong_scaling);
  visit("wanted_efficiency", a.wanted_efficiency, b.wanted_efficiency, kShare);
  visit("statistic", a.statistic, b.statistic);
  visit("layer", a.layer, b.layer, Range{0, 10000});
  visit("simulated_staleness", a.is_simulated_staleness, b.is_simulated_staleness);
  visit("arrival", a.arrival, b.arrival);
  visit("memory_counter", a.memory_counter, b.memory_counter);
  visit("assumed", a.assumed, b.assumed);
}

class KeyNames {
 public:
  template <class Field>
  void operator()(const char* key, const Field&, const Field&, Range = {}) {
    names.push_back(key);
  }
  std::vector<std::string> names;
};

// ---- reading ----

NetworkStated read_network(const JsonNode& node) {
  NetworkStated network;
  if (node.is_string()) return network;  // a text, which the record has
  node.keys({"id", "count", "rate"});
  network.id = node.at("id").text();
  if (const auto count = node.find("count")) {
    network.count = static_cast<int>(count->integer(1, kMostGpusPerNode));
    network.is_count_stated = true;
  }
  if (const auto rate = node.find("rate"))
    network.rate_bits_per_s = 8 * rate->quantity(Dimension::bandwidth, {1e3, 1e15});
  network.is_stated = true;
  return network;
}

ArrivalSpec read_arrival(const JsonNode& node) {
  node.keys({"before_s", "at", "order", "longest"});
  ArrivalSpec arrival;
  if (const auto before = node.find("before_s")) arrival.before_s = before->number({1e-9, 1e9});
  if (const auto at = node.find("at")) arrival.at = at->number({1e-12, 1});
  if (const auto longest = node.find("longest")) arrival.is_longest = longest->boolean();
  if (const auto order = node.find("order")) {
    const std::vector<JsonNode> pair = order->items();
    if (pair.size() != 2) order->fail("not two numbers", "allowed: [k, n], the k-th of n");
    arrival.order.n = static_cast<int>(pair[1].integer(1, 1 << 20));
    arrival.order.k = static_cast<int>(pair[0].integer(1, arrival.order.n));
  }
  if ((arrival.before_s > 0) == (arrival.at > 0))
    node.fail("neither or both of before_s and at", "allowed: one of them");
  return arrival;
}

// A job in words has an all-reduce or an algorithm; a record may have any algorithm.
void check_algorithm(const JsonNode& node) {
  const JobAlgorithm* named = job_algorithm_named(node.text());
  if (named == nullptr || !(named->is_of_words || named->algorithm))
    node.fail(in_quotes(node.text()) + " is unknown",
              "allowed: algorithms of simulate job --list, the nearest " + joined(nearest_algorithms(node.text())));
}

class Reader {
 public:
  explicit Reader(const JsonNode& record) : record_(record), is_explicit_(says_keys()) {}

  bool is_explicit() const { return is_explicit_; }

  template <class Field, class... Limits>
  void operator()(const char* key, Field& field, Field&, Limits... limits) {
    const std::optional<JsonNode> node = find(key);
    if (!node || (!is_explicit_ && is_text_elsewhere(key, *node))) return;
    read(*node, field, limits...);
    names.insert(key);
  }
  std::set<std::string> names;

 private:
  std::optional<JsonNode> find(const std::string& key) const {
    std::optional<JsonNode> node = record_.find(key);
    return node && !node->is_null() ? node : std::nullopt;
  }
  // What publications' texts do not have.
  bool says_keys() const {
    const auto keys = {"software", "dp", "microbatch", "layers", "hidden"};
    return std::any_of(keys.begin(), keys.end(), [this](const char* key) { return find(key).has_value(); });
  }
  // Else these are a publication's texts, for the translator.
  static bool is_text_elsewhere(const std::string& key, const JsonNode& node) {
    static const std::set<std::string> texts{"model", "gpu", "network", "precision", "algorithm"};
    return texts.count(key) > 0 && node.is_string();
  }
  static void read(const JsonNode& node, std::string& field) { field = node.text(); }
  static void read(const JsonNode& node, Named& field) { field.stated = node.text(); }
  static void read(const JsonNode& node, NetworkStated& field) { field = read_network(node); }
  static void read(const JsonNode& node, ArrivalSpec& field) { field = read_arrival(node); }
  static void read(const JsonNode& node, std::optional<Algorithm>&) { check_algorithm(node); }  // by resolve_names()
  static void read(const JsonNode& node, std::map<std::string, std::string>& field) {
    for (const auto& [key, why] : node.members()) field[key] = why.text();
  }
  static void read(const JsonNode& node, bool& field) { field = node.boolean(); }
  static void read(const JsonNode& node, std::optional<bool>& field) { field = node.boolean(); }
  static void read(const JsonNode& node, double& field, Range limits) { field = node.number(limits); }
  static void read(const JsonNode& node, int& field, Range limits) {
    field =
        static_cast<int>(node.integer(static_cast<std::int64_t>(limits.low), static_cast<std::int64_t>(limits.high)));
  }
  static void read(const JsonNode& node, std::optional<int>& field, Range limits) {
    int value = 0;
    read(node, value, limits);
    field = value;
  }
  template <class E>
  static std::enable_if_t<std::is_enum_v<E>> read(const JsonNode& node, E& field) {
    const auto value = node.is_string() ? find_choice_in_words<E>(node.json().get<std::string>()) : std::nullopt;
    field = value ? *value : read_choice<E>(node);  // which refuses it
  }
  template <class E>
  static std::enable_if_t<std::is_enum_v<E>> read(const JsonNode& node, std::optional<E>& field) {
    E value{};
    read(node, value);
    field = value;
  }

  JsonNode record_;
  bool is_explicit_;
};

// ---- writing ----

std::string gbits_text(double bits_per_s) {
  char text[64];
  std::snprintf(text, sizeof text, "%.15g Gbit/s", bits_per_s / 1e9);
  return text;
}

Json network_json(const NetworkStated& network) {
  Json json{{"id", network.id}};
  if (network.is_count_stated) json["count"] = network.count;
  if (network.rate_bits_per_s > 0) json["rate"] = gbits_text(network.rate_bits_per_s);
  return json;
}

Json arrival_json(const ArrivalSpec& arrival) {
  Json json;
  if (arrival.before_s > 0) json["before_s"] = arrival.before_s;
  if (arrival.at > 0) json["at"] = arrival.at;
  if (arrival.order.n > 1) json["order"] = {arrival.order.k, arrival.order.n};
  if (arrival.is_longest) json["longest"] = true;
  return json;
}

class Writer {
 public:
  template <class Field>
  void operator()(const char* key, const Field& field, const Field& unstated, Range = {}) {
    write(key, field, unstated);
  }
  Json json = Json::object();

 private:
  void write(const char* key, const Named& field, const Named&) {
    if (!field.id.empty() || !field.stated.empty()) json[key] = field.id.empty() ? field.stated : field.id;
  }
  void write(const char* key, const NetworkStated& field, const NetworkStated&) {
    if (!field.id.empty()) json[key] = network_json(field);
  }
  void write(const char* key, const ArrivalSpec& field, const ArrivalSpec&) {
    if (field.before_s > 0 || field.at > 0) json[key] = arrival_json(field);
  }
  template <class E>
  std::enable_if_t<std::is_enum_v<E>> write(const char* key, E field, E unstated) {
    if (field != unstated) json[key] = name_of(field);
  }
  template <class Value>
  void write(const char* key, const std::optional<Value>& field, const std::optional<Value>&) {
    if (!field) return;
    if constexpr (std::is_enum_v<Value>)
      json[key] = name_of(*field);
    else
      json[key] = *field;
  }
  template <class Value>
  std::enable_if_t<!std::is_enum_v<Value>> write(const char* key, const Value& field, const Value& unstated) {
    if (field == unstated) return;
    if constexpr (std::is_same_v<Value, double>)
      json[key] = plain_number(field);
    else
      json[key] = field;
  }
  // 4096, not 4096.0.
  static Json plain_number(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
  }
};

// ---- into a job ----

class Copier {
 public:
  explicit Copier(const std::set<std::string>& names) : names_(names) {}
  template <class Field>
  void operator()(const char* key, const Field& from, Field& to, Range = {}) {
    if (names_.count(key) > 0) to = from;
  }

 private:
  const std::set<std::string>& names_;
};

// A micro-batch of a group that is one GPU is the batch of that GPU.
void set_batches(JobSpec& job) {
  if (job.batch_per_gpu == 0 && job.split.microbatch > 0) job.batch_per_gpu = job.split.microbatch;
}

}  // namespace

const std::vector<std::string>& job_key_names() {
  static const std::vector<std::string> names = [] {
    KeyNames keys;
    const JobSpec job;
    each_key(keys, job, job);
    keys.names.push_back("batch");
    return keys.names;
  }();
  return names;
}

JobKeys read_job_keys(const JsonNode& record) {
  JobSpec facts;
  Reader reader(record);
  each_key(reader, facts, facts);
  if (reader.names.empty()) return {};
  if (reader.names.count("algorithm") > 0) facts.exchange = record.at("algorithm").text();
  return {reader.names, reader.is_explicit(), std::make_shared<const JobSpec>(std::move(facts))};
}

void take_keys(const Record& record, JobSpec& job, const Catalogue& catalogue) {
  if (record.keys.names.empty()) return;
  const std::set<std::string>& names = record.keys.names;
  Copier copier(names);
  const Collective collective = job.measure.collective;
  each_key(copier, *record.keys.facts, job);
  set_batches(job);
  if (!record.is_explicit()) {
    if (names.count("collective") == 0) job.measure.collective = collective;
    if (names.count("link") > 0) resolve_link(job, catalogue);
    if (names.count("network") > 0) resolve_network(job, catalogue);
  } else {
    const Collective stated = job.measure.collective;
    job.measure = measure_by_name(record.metric, record.unit);
    job.measure.collective = stated;
    job.exchange = record.keys.facts->exchange;
    if (job.network.id.empty()) job.network.stated = record.network;
    if (job.software.stated.empty()) {
      job.software.stated = usual_software(job.split);
      job.assumed["software"] = "not stated; usual for such a split";
    }
    resolve_names(job, names, catalogue);
    join_nodes(job, {job.gpus}, catalogue);
  }
  if (job.split.sharding == ShardingStage::zero3 && !job.algorithm) job.algorithm = Algorithm::sharded;
}

Json job_json(const JobSpec& job) {
  Writer writer;
  const JobSpec unstated;
  each_key(writer, job, unstated);
  return writer.json;
}

}  // namespace records
}  // namespace lockstep::sim
