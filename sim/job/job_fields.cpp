#include "sim/job/job_fields.hpp"
#include "sim/catalogue/name_index.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "sim/job/field_reader.hpp"
#include "sim/job/field_writer.hpp"
#include "sim/job/job_names.hpp"

namespace lockstep::sim::job {
namespace {

// A key of "parallel" is also its name in records and, after "--", its option. Its description is the option's help.
// Exceptions:
struct OtherNames {
  const char *key, *record, *option, *help;
};

const std::vector<OtherNames>& other_names() {
  static const std::vector<OtherNames> all{
      {"tensor", "tp", "--tensor", "GPUs that share every layer's matrices"},
      {"sequence", "sequence_parallel", "--sequence-parallel",
       "Norms and residuals split along the sequence over the tensor ranks"},
      {"pipeline", "pp", "--pipeline", "Stages of consecutive layers"},
      {"context", "cp", "--context", "GPUs that share every sequence"},
      {"expert", "ep", "--expert", "Ranks that divide the experts among them"},
      {"expert_tensor", "etp", "--expert-tensor",
       "Tensor ranks that share each expert's matrices: 1, or as --tensor (default)"},
      {"data", "dp", "", ""},  // on a command line it follows from the number of GPUs
      {"slice_overhead", "slice_overhead", "", ""},
      {"expert_overlap_share", "", "", ""},  // an assumption of the model
      {"global_batch", "", "", ""},          // a fact of all jobs
      {"micro_batches", "", "", ""},
      {"micro_batch", "microbatch", "--micro-batch", "Sequences that a replica computes at once (default: 1)"},
      {"recompute_modules", "recompute_modules", "--recompute-modules",
       "With --recompute selective, the parts of a layer that are computed again (default: core_attn)"},
      {"keeping", "", "", ""},    // a fact of the software
      {"partition", "", "", ""},  // likewise
      {"tensor_overlap", "tensor_overlap", "--tensor-overlap",
       "The part of the tensor ranks' exchange that overlaps with matrix multiplications (default: by software)"}};
  return all;
}

// Another division of the model keeps these keys.
bool says_what_trains(const std::string& key) {
  for (const char* one : {"lora_rank", "lora_target", "frozen_weights", "expert_capacity", "expert_imbalance"})
    if (key == one) return true;
  return false;
}

constexpr const char* kOffload = "offload";
constexpr const char* kOptimizerInHost = "optimizer";  // the only offload that is simulated (sim/replica/rank_cost.hpp)

void read_split(const JsonNode& object, GivenSplit& split) {
  for (const SplitFieldName& field : split_fields()) {
    if (field.record.empty()) continue;
    std::optional<JsonNode> node = given_member(object, field.record);
    if (!node) node = given_member(object, field.key);
    if (node) split.give(field.key, *node);
  }
  if (const auto offload = given_member(object, kOffload)) {
    if (offload->text() == kOptimizerInHost)
      split.give("offload_optimizer", Json(true));
    else
      split.unsupported_offload = offload->text();
  }
}

std::string gbits_text(double bits_per_s) {
  return format_text::shortest(bits_per_s / 1e9) + " Gbit/s";
}

}  // namespace

const std::vector<SplitFieldName>& split_fields() {
  static const std::vector<SplitFieldName> all = [] {
    std::vector<SplitFieldName> fields;
    for (const FieldText* field : parallel_format().texts()) {
      SplitFieldName name{field->key, field->key, "--" + field->key, field->meaning};
      std::replace(name.option.begin(), name.option.end(), '_', '-');
      for (const OtherNames& other : other_names())
        if (other.key == field->key) name = {other.key, other.record, other.option, other.help};
      name.says_what_trains = says_what_trains(name.key);
      fields.push_back(name);
    }
    return fields;
  }();
  return all;
}

std::string split_option(const std::string& key) {
  for (const SplitFieldName& field : split_fields())
    if (field.key == key) return field.option;
  return "";
}

const std::vector<std::string>& job_keys() {
  static const std::vector<std::string> names = [] {
    FieldKeys keys;
    const Job job;
    visit_job_fields(keys, job, job);
    for (const SplitFieldName& field : split_fields())
      for (const std::string& name : {field.record, field.key})
        if (!field.record.empty() && std::find(keys.names.begin(), keys.names.end(), name) == keys.names.end())
          keys.names.push_back(name);
    keys.names.insert(keys.names.end(), {kOffload, "batch"});
    return keys.names;
  }();
  return names;
}

std::optional<JsonNode> given_member(const JsonNode& object, const std::string& key) {
  std::optional<JsonNode> node = object.find(key);
  const bool is_empty = node && node->is_string() && node->json().get<std::string>().empty();
  return node && !node->is_null() && !is_empty ? node : std::nullopt;
}

void FieldReader::read(const JsonNode& node, NetworkStated& field) {
  if (node.is_string()) {
    field.stated = node.text();
    return;
  }
  node.keys({"id", "count", "rate"});
  field.id = node.at("id").text();
  if (const auto count = node.find("count")) {
    field.count = static_cast<int>(count->integer(1, kMostGpusPerNode));
    field.is_count_stated = true;
  }
  if (const auto rate = node.find("rate"))
    field.rate_bits_per_s = 8 * rate->quantity(Dimension::bandwidth, {1e3, 1e15});
  field.is_stated = true;
}

void FieldReader::read(const JsonNode& node, std::optional<Algorithm>&) {
  const JobAlgorithm* named = job_algorithm_named(node.text());
  if (named == nullptr || !(named->needs_no_numbers || named->algorithm))
    node.fail(in_quotes(node.text()) + " is unknown",
              "allowed: algorithms of simulate job --list, the nearest " + joined(nearest_algorithms(node.text())));
}

void FieldWriter::write(const char* key, const NetworkStated& field, const NetworkStated&) {
  if (field.id.empty()) return;
  Json network{{"id", field.id}};
  if (field.is_count_stated) network["count"] = field.count;
  if (field.rate_bits_per_s > 0) network["rate"] = gbits_text(field.rate_bits_per_s);
  json[key] = network;
}

int read_batch(const JsonNode& node) {
  return static_cast<int>(std::lround(std::max(1.0, node.number(kBatchBeforeRounding))));
}

std::string default_reason(const std::string& reason) {
  return reason.empty() ? "not stated" : "not stated; " + reason;
}

void Job::record_default(const std::string& key, const std::string& reason) {
  assumed[key] = default_reason(reason);
  defaulted.insert(key);
}

int Job::batch() const {
  if (batch_per_gpu > 0) return batch_per_gpu;
  if (global_batch > 0 && gpus > 0) return static_cast<int>(std::max<std::int64_t>(1, global_batch / gpus));
  return 0;
}

bool Job::has_carried_rate() const {
  return std::any_of(measured.begin(), measured.end(), [](const MeasuredRun& run) { return !run.of_gpu.empty(); });
}

std::string Job::why_assumed(const std::string& key) const {
  const auto found = assumed.find(key);
  return found == assumed.end() ? "" : found->second;
}

void read_job(const JsonNode& object, Job& job) {
  FieldReader reader(object);
  visit_job_fields(reader, job, job);
  read_split(object, job.split);
  job.given = reader.given;
  if (const auto algorithm = given_member(object, "algorithm")) job.exchange = algorithm->text();
}

Json job_json(const Job& job) {
  FieldWriter writer;
  const Job otherwise;
  visit_job_fields(writer, job, otherwise);
  for (const SplitFieldName& field : split_fields())
    if (job.split.has(field.key) && !field.record.empty())
      writer.json[field.record] = parallel_format().write_value(field.key, job.split.values);
  if (!job.split.unsupported_offload.empty()) writer.json[kOffload] = job.split.unsupported_offload;
  return writer.json;
}

}  // namespace lockstep::sim::job
