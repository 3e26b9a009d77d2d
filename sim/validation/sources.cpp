#include "sim/validation/sources.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/base/text.hpp"

namespace lockstep::sim::validation {
namespace {

// Each source may predict later ones, never earlier ones.
const std::vector<std::vector<std::string>>& series() {
  static const std::vector<std::vector<std::string>> all{
      {"NVIDIA NeMo performance summaries 24.07 and 24.09", "NVIDIA Megatron-Bridge performance summary 25.09",
       "NVIDIA Megatron-Bridge performance summary 25.11",
       "NVIDIA Megatron-Bridge performance summaries 26.02 and 26.02.01"}};
  return all;
}

void add_source(const JsonNode& source, SourceTable& table) {
  source.keys({"name", "citations"});
  const JsonNode name = source.at("name");
  const auto citations = source.find("citations");
  for (const JsonNode& citation : citations ? citations->items() : std::vector<JsonNode>{name})
    if (!table.emplace(citation.text(), name.text()).second)
      citation.fail(in_quotes(citation.text()) + " is listed twice", "allowed: each citation under one name");
}

void add_figures(const Entry& entry, const std::set<std::string>& of_targets, std::vector<std::string>& lines) {
  for (const Assumption& fact : entry.facts)
    if (fact.kind != "assumed" && of_targets.count(fact.source) > 0)
      lines.push_back(entry.id + ": " + fact.pointer + ": " + in_quotes(fact.source));
}

}  // namespace

std::optional<SourceTable> load_sources(const std::string& folder_of_suites) {
  const std::string path = folder_of_suites + "/../sources.json";
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) return std::nullopt;
  const JsonDocument document = JsonDocument::load(path);
  const JsonNode root = document.root();
  root.keys({"schema", "description", "sources"});
  root.at("schema").choice({"lockstep/sources/1"});
  SourceTable table;
  for (const JsonNode& source : root.at("sources").items()) add_source(source, table);
  return table;
}

bool may_predict(const std::string& source, const std::string& predicted) {
  if (source == predicted) return false;
  for (const std::vector<std::string>& releases : series()) {
    const auto older = std::find(releases.begin(), releases.end(), source);
    const auto newer = std::find(releases.begin(), releases.end(), predicted);
    if (older != releases.end() && newer != releases.end()) return older < newer;
  }
  return true;
}

std::vector<std::string> sources_in_series() {
  std::vector<std::string> all;
  for (const std::vector<std::string>& releases : series()) all.insert(all.end(), releases.begin(), releases.end());
  return all;
}

std::vector<std::string> figures_of_targets(const Catalogue& catalogue, const std::vector<Record>& records) {
  // A figure may cite any citation of a target's source.
  std::set<std::string> sources, of_targets;
  for (const Record& record : records)
    if (record.role == Role::target) sources.insert(record.whole_source);
  for (const Record& record : records)
    if (sources.count(record.whole_source) > 0) of_targets.insert({record.source, record.whole_source});
  std::vector<std::string> lines;
  for (const GpuEntry& entry : catalogue.gpus) add_figures(entry, of_targets, lines);
  for (const IntraNodeEntry& entry : catalogue.intra_nodes) add_figures(entry, of_targets, lines);
  for (const NetworkEntry& entry : catalogue.networks) add_figures(entry, of_targets, lines);
  for (const StackEntry& entry : catalogue.stacks) add_figures(entry, of_targets, lines);
  return lines;
}

}  // namespace lockstep::sim::validation
