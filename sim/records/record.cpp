#include "sim/records/record.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/text.hpp"
#include "sim/records/job_keys.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

constexpr std::int64_t kMostGpusOfNode = 1024;  // as --gpus-per-node of simulate job
constexpr std::size_t kLongestText = 4000;      // texts are searched by regular expressions, which recurse
constexpr double kMostBytes = 1e15;

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys{"id",
                                             "source",
                                             "where",
                                             "url_or_seed",
                                             "system",
                                             "model",
                                             "params_bytes",
                                             "gpu",
                                             "gpus",
                                             "gpus_per_node",
                                             "network",
                                             "algorithm",
                                             "precision",
                                             "batch_per_gpu",
                                             "intra_node_link",
                                             "global_batch",
                                             "metric",
                                             "value",
                                             "unit",
                                             "extra_inputs_needed",
                                             "exact_quote",
                                             "role",
                                             "group",
                                             "secondary",
                                             "notes",
                                             "use",
                                             "note",
                                             "confirmed_from",
                                             "published_as"};
  return keys;
}

// null is as good as absent.
std::optional<JsonNode> stated(const JsonNode& record, const std::string& key) {
  std::optional<JsonNode> node = record.find(key);
  if (node && node->is_null()) return std::nullopt;
  return node;
}

std::string text_of(const JsonNode& record, const std::string& key) {
  const std::optional<JsonNode> node = stated(record, key);
  if (!node) return {};
  if (node->is_string() && node->json().get<std::string>().empty()) return {};
  const std::string text = node->text();
  if (text.size() > kLongestText)
    node->fail("is of " + std::to_string(text.size()) + " bytes", "allowed: up to " + std::to_string(kLongestText));
  return text;
}

std::int64_t count_of(const JsonNode& record, const std::string& key, std::int64_t most) {
  const std::optional<JsonNode> node = stated(record, key);
  return node ? node->integer(1, most) : 0;
}

// MLPerf's logs print batches per GPU that their global batch does not divide into: 204.0, but also 39.2.
int batch_of(const JsonNode& record) {
  std::optional<JsonNode> node = stated(record, "batch_per_gpu");
  if (!node) node = stated(record, "batch");
  return node ? static_cast<int>(std::lround(std::max(1.0, node->number({0.01, 1 << 24})))) : 0;
}

Role role_of(const JsonNode& record) {
  const std::optional<JsonNode> node = stated(record, "role");
  if (!node) return Role::target;
  const std::string name = node->choice({"input", "target", "context"});
  return name == "input" ? Role::input : name == "target" ? Role::target : Role::context;
}

Use use_of(const JsonNode& record) {
  const std::optional<JsonNode> node = stated(record, "use");
  if (!node) return Use::none;
  const std::string name = node->choice({"given", "fit", "test"});
  return name == "given" ? Use::given : name == "fit" ? Use::fit : Use::test;
}

std::optional<double> value_of(const JsonNode& record) {
  const std::optional<JsonNode> node = stated(record, "value");
  if (!node || !node->json().is_number()) return std::nullopt;
  return node->number({-1e30, 1e30});
}

// Texts of a publication, or names of explicit keys; a network in keys may also be an object.
void read_texts(const JsonNode& node, Record& record) {
  record.system = text_of(node, "system");
  record.model = text_of(node, "model");
  record.gpu = text_of(node, "gpu");
  record.intra_node_link = text_of(node, "intra_node_link");
  if (const auto network = stated(node, "network"); !network || !network->is_object())
    record.network = text_of(node, "network");
  record.algorithm = text_of(node, "algorithm");
  record.precision = text_of(node, "precision");
  record.notes = text_of(node, "notes");
}

Record read_record(const JsonNode& node) {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all = known_keys();
    for (const std::string& key : job_key_names())
      if (std::find(all.begin(), all.end(), key) == all.end()) all.push_back(key);
    return all;
  }();
  node.keys(keys);
  Record record;
  node.at("id");
  node.at("metric");
  record.id = text_of(node, "id");
  record.metric = text_of(node, "metric");
  if (record.id.empty()) node.at("id").text();  // null or "": says what is wrong
  if (record.metric.empty()) node.at("metric").text();
  record.value = value_of(node);
  record.unit = text_of(node, "unit");
  record.role = role_of(node);
  record.use = use_of(node);
  record.group = text_of(node, "group");
  record.source = text_of(node, "source");
  read_texts(node, record);
  if (const auto bytes = stated(node, "params_bytes")) record.params_bytes = bytes->number({1, kMostBytes});
  record.gpus = static_cast<int>(count_of(node, "gpus", kMostGpus));
  record.gpus_per_node = static_cast<int>(count_of(node, "gpus_per_node", kMostGpusOfNode));
  record.batch_per_gpu = batch_of(node);
  record.global_batch = count_of(node, "global_batch", std::int64_t{1} << 40);
  record.keys = read_job_keys(node);
  return record;
}

}  // namespace

std::string to_string(Role role) {
  return role == Role::input ? "input" : role == Role::target ? "target" : "context";
}

std::string to_string(Use use) {
  switch (use) {
    case Use::given:
      return "given";
    case Use::fit:
      return "fit";
    case Use::test:
      return "test";
    case Use::none:
      break;
  }
  return "";
}

std::vector<Record> read_records(const JsonNode& array) {
  std::vector<Record> records;
  std::set<std::string> ids;
  for (const JsonNode& node : array.items()) {
    records.push_back(read_record(node));
    if (!ids.insert(records.back().id).second)
      node.at("id").fail("a second record with the id " + in_quotes(records.back().id), "allowed: each id once");
  }
  return records;
}

std::vector<Record> read_records(const JsonDocument& document) {
  const JsonNode root = document.root();
  if (const std::optional<JsonNode> records = root.is_object() ? root.find("records") : std::nullopt)
    return read_records(*records);
  return read_records(root);
}

std::vector<Record> read_records(const std::string& path) {
  return read_records(JsonDocument::load(path));
}

}  // namespace records
}  // namespace lockstep::sim
