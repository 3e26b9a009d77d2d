#include "sim/scenario/scenario_template.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine/base/text.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/scenario_format.hpp"
#include "sim/scenario/scenario_read.hpp"

namespace lockstep::sim::scenario {
namespace {

constexpr const char* kNodes = "/nodes";

// Sets whole nodes of the cluster that results from all other settings.
void set_nodes(JsonDocument& document, const Setting& setting) {
  const JsonDocument number = JsonDocument::parse(setting.text, setting.origin);
  const std::int64_t nodes = number.root().integer(1, kMostGpus);
  document.set("/gpus", Json::array({nodes * gpus_per_node(document.json())}).dump(), setting.origin);
}

bool is_member(const Setting& setting) {
  return setting.pointer.find('/', 1) == std::string::npos;
}

// `before`: the setting applied before this one. It may set an algorithm, which adds objects whose members this one
// sets.
void apply_behind(const Setting* before, const Setting& setting, JsonDocument& document) {
  if (before && is_member(*before) && !is_member(setting)) fill_defaults(document);
  apply_setting(document, setting.pointer, setting.text, setting.origin, setting.folder);
}

// Returns the settings in their order, except that of the number of nodes.
std::vector<const Setting*> without_nodes(const std::vector<Setting>& settings) {
  std::vector<const Setting*> rest;
  for (const Setting& setting : settings)
    if (setting.pointer != kNodes) rest.push_back(&setting);
  return rest;
}

void complete(const std::vector<Setting>& settings, JsonDocument& document) {
  const auto nodes =
      std::find_if(settings.rbegin(), settings.rend(), [](const Setting& s) { return s.pointer == kNodes; });
  if (nodes != settings.rend()) set_nodes(document, *nodes);
  fill_defaults(document);
  fill_baseline(document);
}

// A member of the file that takes time to read. Its value depends on itself and on the member `goes_by`.
struct Member {
  const char* key;
  const char* goes_by;  // null: depends on no other member
  void (*move)(Scenario& from, Scenario& to);
};
constexpr Member kMembers[] = {
    {"cluster", nullptr, [](Scenario& from, Scenario& to) { to.cluster = std::move(from.cluster); }},
    {"model", nullptr, [](Scenario& from, Scenario& to) { to.model = std::move(from.model); }},
    {"parallel", nullptr, [](Scenario& from, Scenario& to) { to.parallel = std::move(from.parallel); }},
    {"compute", "model", [](Scenario& from, Scenario& to) { to.compute = std::move(from.compute); }},
    {"input", nullptr, [](Scenario& from, Scenario& to) { to.input = std::move(from.input); }},
    {"communication", "cluster",
     [](Scenario& from, Scenario& to) { to.communication = std::move(from.communication); }},
    {"convergence", nullptr, [](Scenario& from, Scenario& to) { to.convergence = std::move(from.convergence); }},
    {"uncertainty", nullptr, [](Scenario& from, Scenario& to) { to.uncertainty = from.uncertainty; }}};

bool is_same(const Json& a, const Json& b, const char* key) {
  if (!key) return true;
  const auto of_a = a.find(key), of_b = b.find(key);
  if (of_a == a.end() || of_b == b.end()) return of_a == a.end() && of_b == b.end();
  return *of_a == *of_b;
}

// Returns the setting of the batch if it is the only one that differs; null if others differ or affect the batch.
const Setting* find_only_new_batch(const std::vector<Setting>& before, const std::vector<Setting>& settings) {
  if (settings.size() != before.size()) return nullptr;
  const Setting* batch = nullptr;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool sets_batch = settings[i].pointer == kBatchPointer && before[i].pointer == kBatchPointer && !batch;
    if (sets_batch)
      batch = &settings[i];
    else if (!(settings[i] == before[i]) || settings[i].pointer.rfind(kBatchPointer, 0) == 0)
      return nullptr;
  }
  return batch;
}

}  // namespace

ScenarioTemplate ScenarioTemplate::load(const std::string& path, const std::string& variant) {
  return ScenarioTemplate(JsonDocument::load(path), variant);
}

ScenarioTemplate ScenarioTemplate::parse(const std::string& text, const std::string& name, const std::string& variant) {
  return ScenarioTemplate(JsonDocument::parse(text, name), variant);
}

ScenarioTemplate::ScenarioTemplate(JsonDocument document, const std::string& variant)
    : document_(std::move(document)), variant_(variant) {
  document_.root().keys(scenario_format().keys());
  include_files(document_);
  fill_defaults(document_);
  const std::vector<Variant> variants = read_variants(document_.root());
  const auto chosen =
      std::find_if(variants.begin(), variants.end(), [&](const Variant& v) { return v.name == variant; });
  if (chosen == variants.end()) {
    std::vector<std::string> names;
    for (const Variant& v : variants) names.push_back(in_quotes(v.name));
    throw InputError(document_.name() + ": /variants: none is named " + in_quotes(variant) +
                     "; allowed: " + joined(names));
  }
  const std::string folder = std::filesystem::path(document_.name()).parent_path().string();
  for (const auto& [pointer, text] : chosen->settings) {
    apply_setting(document_, pointer, text, chosen->origin, folder);
  }
}

LoadedScenario ScenarioTemplate::with(const std::vector<Setting>& settings) const {
  JsonDocument varied = document_;
  const Setting* before = nullptr;
  for (const Setting* setting : without_nodes(settings)) {
    apply_behind(before, *setting, varied);
    before = setting;
  }
  complete(settings, varied);
  LoadedScenario loaded;
  loaded.variants.push_back(read_scenario(varied.root(), variant_));
  loaded.resolved = varied.json();
  loaded.assumptions = varied.assumptions();
  loaded.inputs = inputs_of(varied, loaded.variants.back());
  return loaded;
}

// Settings that points share come first (shallow ones, axes that vary slowly), so that their results are reused.
const JsonDocument& ScenarioSeries::under_all_but_last(const std::vector<const Setting*>& settings) {
  const std::size_t count = settings.empty() ? 0 : settings.size() - 1;
  std::size_t level = 0;
  while (level < std::min(levels_.size(), count) && levels_[level].setting == *settings[level]) ++level;
  levels_.erase(levels_.begin() + static_cast<std::ptrdiff_t>(level), levels_.end());
  for (; level < count; ++level) {
    JsonDocument document = level == 0 ? base_.document_ : levels_[level - 1].document;
    apply_behind(level == 0 ? nullptr : settings[level - 1], *settings[level], document);
    levels_.push_back({*settings[level], std::move(document)});
  }
  return count == 0 ? base_.document_ : levels_.back().document;
}

JsonDocument ScenarioSeries::document_with(const std::vector<Setting>& settings) {
  const std::vector<const Setting*> others = without_nodes(settings);
  JsonDocument varied = under_all_but_last(others);
  if (!others.empty()) apply_behind(others.size() > 1 ? others[others.size() - 2] : nullptr, *others.back(), varied);
  complete(settings, varied);
  return varied;
}

const Scenario& ScenarioSeries::with(const std::vector<Setting>& settings) {
  std::optional<Latest> before = std::exchange(latest_, std::nullopt);
  const Setting* const batch = before ? find_only_new_batch(before->settings, settings) : nullptr;
  JsonDocument document = batch ? std::move(before->document) : document_with(settings);
  if (batch) apply_setting(document, batch->pointer, batch->text, batch->origin, batch->folder);
  const auto is_known = [&](const Member& member) {
    return batch || (before && is_same(before->document.json(), document.json(), member.key) &&
                     is_same(before->document.json(), document.json(), member.goes_by));
  };
  Scenario scenario;
  std::vector<std::string> known;
  for (const Member& member : kMembers) {
    if (!is_known(member)) continue;
    member.move(before->scenario, scenario);
    known.push_back(member.key);
  }
  const auto is_read = [&](const std::string& key) {
    return std::find(known.begin(), known.end(), key) == known.end();
  };
  read_scenario(document.root(), base_.variant_, is_read, scenario);
  return latest_.emplace(Latest{settings, std::move(document), std::move(scenario)}).scenario;
}

}  // namespace lockstep::sim::scenario
