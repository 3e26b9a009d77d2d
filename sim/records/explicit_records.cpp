#include "sim/records/explicit_records.hpp"

#include "sim/records/job_keys.hpp"
#include "sim/records/measure.hpp"
#include "sim/records/translate.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

void copy(const Json& from, Json& to, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (from.contains(key) && !from.at(key).is_null()) to[key] = from.at(key);
}

// "images/s (median of logged speeds)" is in images/s; the rest is a note.
void set_measure(const Json& said, const JobSpec& job, Json& record) {
  const bool is_known = job.measure.why_not.empty();
  record["metric"] = is_known ? Json(name_of(job.measure.metric)) : said.at("metric");
  const std::string before =
      said.contains("unit") && said.at("unit").is_string() ? said.at("unit").get<std::string>() : "";
  const std::string unit = is_known ? unit_of(job.measure) : before;
  if (!unit.empty()) record["unit"] = unit;
  if (!before.empty() && before != unit) record["published_as"] = before;
}

Json explicit_record(const Json& said, const JobSpec& job) {
  Json record;
  copy(said, record,
       {"id", "role", "use", "group", "source", "where", "url_or_seed", "system", "secondary", "extra_inputs_needed",
        "exact_quote", "confirmed_from"});
  set_measure(said, job, record);
  copy(said, record, {"value"});
  const Json facts = job_json(job);
  for (const auto& [key, value] : facts.items()) {
    record[key] = value;
    if (key == "gpu") copy(said, record, {"gpus", "gpus_per_node"});
  }
  copy(said, record, {"gpus", "gpus_per_node", "batch_per_gpu", "global_batch", "notes", "note"});
  return record;
}

}  // namespace

Json explicit_records(const Json& document, const std::vector<Record>& records, const Catalogue& catalogue) {
  Json rewritten = document;
  Json& list = rewritten.is_object() ? rewritten.at("records") : rewritten;
  for (std::size_t i = 0; i < records.size(); ++i)
    if (!records[i].is_explicit()) list[i] = explicit_record(list[i], job_of(records[i], catalogue));
  return rewritten;
}

}  // namespace records
}  // namespace lockstep::sim
