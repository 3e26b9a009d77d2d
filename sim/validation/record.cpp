#include "sim/validation/record.hpp"

#include <algorithm>
#include <set>

#include "engine/base/text.hpp"
#include "sim/job/field_reader.hpp"
#include "sim/job/job_names.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/validation/measure.hpp"

namespace lockstep::sim::validation {
namespace {

constexpr std::size_t kLongestText = 4000;

// Keys in addition to those of the job and the measurement. Keys from "where" on are for human readers.
const std::vector<std::string>& own_keys() {
  static const std::vector<std::string> keys{"id",
                                             "metric",
                                             "value",
                                             "unit",
                                             "role",
                                             "use",
                                             "group",
                                             "source",
                                             "system",
                                             "params_bytes",
                                             "intra_node_link",
                                             "arrival",
                                             "not_predicted",
                                             "where",
                                             "url_or_seed",
                                             "extra_inputs_needed",
                                             "exact_quote",
                                             "secondary",
                                             "notes",
                                             "note",
                                             "confirmed_from",
                                             "published_as",
                                             "famous",
                                             "unconfirmed"};
  return keys;
}

// Visits the facts that the metric needs, by key.
template <class Visit, class A, class B>
void visit_measurement(Visit& visit, A& a, B& b) {
  using Name = FieldName;
  visit(Name{"collective"}, a.collective, b.collective);
  visit(Name{"causal_flops"}, a.has_causal_flops, b.has_causal_flops);
  visit(Name{"undisturbed"}, a.is_undisturbed, b.is_undisturbed);
  visit(Name{"baseline"}, a.baseline_gpus, b.baseline_gpus, kCount);
  visit(Name{"strong_scaling"}, a.is_strong_scaling, b.is_strong_scaling);
  visit(Name{"wanted_efficiency"}, a.wanted_efficiency, b.wanted_efficiency, kFraction);
  visit(Name{"statistic"}, a.statistic, b.statistic);
  visit(Name{"layer"}, a.layer, b.layer, Range{0, 10000});
  visit(Name{"simulated_staleness"}, a.is_simulated_staleness, b.is_simulated_staleness);
  visit(Name{"memory_counter"}, a.memory_counter, b.memory_counter);
}

const std::vector<std::string>& all_keys() {
  static const std::vector<std::string> keys = [] {
    FieldKeys measurement;
    const Record record;
    visit_measurement(measurement, record, record);
    std::vector<std::string> all = own_keys();
    for (const std::vector<std::string>& more : {job_keys(), measurement.names})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return keys;
}

std::string read_text(const JsonNode& record, const std::string& key) {
  const std::optional<JsonNode> node = given_member(record, key);
  if (!node) return {};
  const std::string text = node->text();
  if (text.size() > kLongestText)
    node->fail("is of " + std::to_string(text.size()) + " bytes", "allowed: up to " + std::to_string(kLongestText));
  return text;
}

std::string read_required_text(const JsonNode& record, const std::string& key) {
  const JsonNode node = record.at(key);
  const std::string text = read_text(record, key);
  return text.empty() ? node.text() : text;  // text() reports null and ""
}

template <class E>
E read_given_choice(const JsonNode& record, const std::string& key, E otherwise, const std::vector<E>& allowed) {
  const std::optional<JsonNode> node = given_member(record, key);
  return node ? read_choice<E>(*node, allowed) : otherwise;
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

Record read_record(const JsonNode& node) {
  node.keys(all_keys());
  Record record;
  record.id = read_required_text(node, "id");
  record.metric = read_required_text(node, "metric");
  if (const auto value = given_member(node, "value"); value && value->json().is_number())
    record.value = value->number({-1e30, 1e30});
  record.unit = read_text(node, "unit");
  record.role = read_given_choice(node, "role", Role::target, {Role::input, Role::target, Role::context});
  record.use = read_given_choice(node, "use", Use::none, {Use::given, Use::fit, Use::test, Use::apart});
  record.group = read_text(node, "group");
  record.source = record.whole_source = read_text(node, "source");
  record.system = read_text(node, "system");
  record.not_predicted = read_text(node, "not_predicted");
  read_job(node, record);
  if (record.batch_per_gpu == 0)
    if (const auto batch = given_member(node, "batch")) record.batch_per_gpu = read_batch(*batch);
  if (record.bytes == 0)
    if (const auto bytes = given_member(node, "params_bytes")) record.bytes = bytes->number(kNumbers);
  if (record.link.stated.empty()) record.link.stated = read_text(node, "intra_node_link");
  FieldReader reader(node);
  visit_measurement(reader, record, record);
  if (const auto arrival = given_member(node, "arrival")) record.arrival = read_arrival(*arrival);
  return record;
}

// Keeps those facts of a record that could not be read which are needed to list it with the reason.
Record refused_record(const JsonNode& node, std::size_t place, const std::string& why) {
  const auto text_of = [&](const char* key) {
    const Json& json = node.json();
    return json.is_object() && json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>()
                                                                              : std::string();
  };
  Record record;
  record.id = text_of("id").empty() ? "record " + std::to_string(place) : text_of("id");
  record.metric = text_of("metric");
  record.group = text_of("group");
  // A given fact that could not be read must not be used for other records.
  const Role role = find_choice<Role>(text_of("role")).value_or(Role::target);
  record.role = role == Role::input ? Role::context : role;
  record.use = find_choice<Use>(text_of("use")).value_or(Use::none);
  record.refused = why;
  return record;
}

}  // namespace

double value_in_si(const Record& resolved, double value) {
  const Measure& measure = resolved.measure;
  const int gpus = std::max(1, resolved.gpus);
  const double images = measure.counted == Counted::iterations ? double(gpus) * resolved.batch() : 1;
  if (measure.tokens > 0) {
    const double batch =
        resolved.global_batch > 0 ? double(resolved.global_batch) : double(resolved.gpus) * resolved.batch();
    const double each = value / measure.per_si / (measure.is_of_all_gpus ? gpus : 1);
    return each * batch * resolved.shape.sequence / measure.tokens;
  }
  return value / measure.per_si * (measure.is_per_gpu ? gpus : 1) * images;
}

Record resolve_record(const Record& record, const Catalogue& catalogue) {
  Record resolved = record;
  if (!record.refused.empty()) return resolved;
  // If a replica is one GPU, its micro-batch is the batch of that GPU.
  if (resolved.batch_per_gpu == 0 && resolved.split.has("micro_batch"))
    resolved.batch_per_gpu = resolved.split.values.micro_batch;
  resolved.measure = measure_by_name(record.metric, record.unit);
  resolved.measure.collective = record.collective;
  if (resolved.software.stated.empty()) {
    resolved.software.stated = usual_software(resolved.split);
    resolved.record_default("software", "usual for such a split");
  }
  resolve_names(resolved, catalogue);
  join_nodes(resolved, {resolved.gpus}, catalogue);
  if (resolved.split.values.sharding == ShardingStage::zero3 && !resolved.algorithm)
    resolved.algorithm = Algorithm::sharded;
  if (resolved.value && resolved.measure.why_not.empty()) resolved.value_si = value_in_si(resolved, *resolved.value);
  return resolved;
}

std::vector<Record> read_records(const JsonNode& array, BadRecords bad) {
  std::vector<Record> records;
  std::set<std::string> ids;
  for (const JsonNode& node : array.items()) {
    try {
      Record record = read_record(node);
      if (!ids.insert(record.id).second)
        node.at("id").fail("a second record with the id " + in_quotes(record.id), "allowed: each id once");
      records.push_back(std::move(record));
    } catch (const InputError& error) {
      if (bad == BadRecords::refuse_file) throw;
      records.push_back(refused_record(node, records.size(), error.what()));
    }
  }
  return records;
}

std::vector<Record> read_records(const JsonDocument& document, BadRecords bad) {
  const JsonNode root = document.root();
  if (const std::optional<JsonNode> records = root.is_object() ? root.find("records") : std::nullopt)
    return read_records(*records, bad);
  return read_records(root, bad);
}

std::vector<Record> read_records(const std::string& path) {
  return read_records(JsonDocument::load(path));
}

}  // namespace lockstep::sim::validation
