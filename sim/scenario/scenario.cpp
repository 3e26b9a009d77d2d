#include "sim/scenario/scenario.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/provenance.hpp"
#include "engine/base/text.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "sim/convergence/profile.hpp"
#include "sim/scenario/check.hpp"
#include "sim/scenario/published_format.hpp"
#include "sim/scenario/ranges.hpp"
#include "sim/scenario/scenario_format.hpp"
#include "sim/scenario/scenario_read.hpp"

namespace lockstep::sim::scenario {
namespace {

// The value at a pointer, produced by the reader's own formats; the root if there is none.
JsonNode node_at(const JsonNode& root, const std::string& pointer) {
  JsonNode node = root;
  for (std::size_t from = 1; from < pointer.size();) {
    const std::size_t until = std::min(pointer.find('/', from), pointer.size());
    const std::string key = pointer.substr(from, until - from);
    if (node.is_array())
      node = node.items().at(static_cast<std::size_t>(std::stoul(key)));
    else if (node.has(key))
      node = node.at(key);
    from = until + 1;
  }
  return node;
}

// A split has batches of its own.
void settle_batch(const JsonNode& node, Scenario& s) {
  if (!s.parallel) {
    node.at("batch_per_gpu");
    return;
  }
  if (node.has("batch_per_gpu"))
    node.at("batch_per_gpu").fail("a split has batches of its own", "allowed: /parallel/global_batch");
  s.batch = {{kMostGpus, s.parallel->micro_batch}};
}

// Rates belong to the model that the file names. If a setting replaces the model, the rates record the first one. Then
// the ratio of measured to roofline time carries over.
void keep_model_of_rates(JsonDocument& document, const std::string& pointer) {
  if (pointer != "/model") return;
  const Json::json_pointer rates("/compute/rates");
  const Json model = document.json().value("model", Json());
  if (!model.is_string() || !document.json().contains(rates) || !document.json().at(rates).is_array()) return;
  for (std::size_t i = 0; i < document.json().at(rates).size(); ++i) {
    const Json& rate = document.json().at(rates).at(i);
    if (!rate.is_object() || rate.contains("model")) continue;
    const std::string name = model::zoo_graph(model.get<std::string>()).name;
    document.set("/compute/rates/" + std::to_string(i) + "/model", name, "the model before");
  }
}

// Applies settings of the command line last. Then defaults fill members that are missing in objects set by it or by a
// variant.
void apply(JsonDocument& document, const std::vector<std::pair<std::string, std::string>>& settings,
           const std::vector<int>& gpus) {
  for (const auto& [pointer, text] : settings) {
    apply_setting(document, pointer, text, "--set", "");
  }
  if (!gpus.empty()) document.set("/gpus", Json(gpus).dump(), "--gpus");
  fill_defaults(document);
  fill_baseline(document);
}

void fail_at(const JsonNode& root, const std::optional<ScenarioProblem>& problem) {
  if (problem) node_at(root, problem->pointer).fail(problem->wrong, problem->allowed);
}

void read_members(const JsonNode& root, const std::string& variant,
                  const std::function<bool(const std::string& key)>& is_read, Scenario& scenario) {
  scenario.variant = variant;
  scenario_format().read_some(root, scenario, is_read);
  settle_batch(root, scenario);
  scenario.published = read_published(root.at("published"), variant, read_variants(root));
}

bool shares_cluster(const JsonNode& root) {
  const auto background = root.find("background");
  const bool has_background = background && !background->items().empty();
  if (has_background && root.has("variants"))
    background->fail("given with \"variants\", each of which would be predicted alone and with it",
                     "allowed: one of them; or a file for each variant");
  return has_background || root.has("jobs");
}

// Each job has its own GPUs and nodes.
void check_settings_of_jobs(const JsonNode& root, const std::vector<std::pair<std::string, std::string>>& settings,
                            const std::vector<int>& gpus) {
  if (!gpus.empty()) root.at("jobs").fail("--gpus: each job has its number of GPUs", "allowed: without --gpus");
  for (const auto& [pointer, text] : settings)
    for (const std::string own : {"/gpus", "/cluster/nodes_used"})
      if (pointer.compare(0, own.size(), own) == 0)
        root.at("jobs").fail("--set " + pointer + ": each job has its GPUs and nodes",
                             "allowed: \"gpus\" and \"nodes\" of /jobs");
  if (const auto cluster = root.find("cluster"); cluster && cluster->is_object() && cluster->has("nodes_used"))
    cluster->at("nodes_used").fail("each job has its nodes", "allowed: \"nodes\" of /jobs");
}

// Reads a variant of several. One without a law of convergence is compared without a time to accuracy; `note` says why.
Scenario read_variant(const JsonNode& root, const std::string& variant, std::string& note) {
  Scenario scenario;
  read_members(
      root, variant, [](const std::string&) { return true; }, scenario);
  fail_at(root, find_problem(scenario));
  if (const std::optional<ScenarioProblem> uncovered = find_uncovered_training(scenario)) {
    note = variant + ": no time to accuracy. Its convergence profile, " + uncovered->wrong;
    scenario.convergence.reset();
  }
  return scenario;
}

}  // namespace

// A cluster is a file or an object; a model is the name of one of the zoo's, a file or an object, which may name a
// HuggingFace configuration.
void include_files(JsonDocument& document) {
  document.include("/cluster");
  document.include("/cluster/profile");
  document.include("/model");
  document.include("/model/config");
  document.include("/workers/delay/samples");
  document.include("/compute/profile");
  document.include("/convergence/profile");
  document.include("/communication/nccl/profile");
  document.include("/communication/profile");
}

void apply_setting(JsonDocument& document, const std::string& pointer, const std::string& text,
                   const std::string& origin, const std::string& folder) {
  keep_model_of_rates(document, pointer);
  document.set(pointer, text, origin, folder);
  include_files(document);
}

void read_scenario(const JsonNode& root, const std::string& variant,
                   const std::function<bool(const std::string& key)>& is_read, Scenario& scenario) {
  read_members(root, variant, is_read, scenario);
  fail_at(root, find_problem(scenario));
  fail_at(root, find_uncovered_training(scenario));
}

Scenario read_scenario(const JsonNode& root, const std::string& variant) {
  Scenario scenario;
  read_scenario(
      root, variant, [](const std::string&) { return true; }, scenario);
  return scenario;
}

std::map<std::string, std::string> inputs_of(const JsonDocument& document, const Scenario& scenario) {
  std::map<std::string, std::string> inputs = document.inputs();
  if (scenario.workers && !scenario.workers->delay.samples_file.empty())
    inputs[scenario.workers->delay.samples_file] = sha256_file(scenario.workers->delay.samples_file);
  return inputs;
}

Json to_json(const Scenario& scenario, const std::vector<Assumption>& sources) {
  Json json = scenario_format().write(scenario);
  for (const Assumption& source : sources) {
    const Json::json_pointer place(source.pointer);
    if (!json.contains(place) || json.at(place).is_structured()) continue;
    json[place] = {{"value", json.at(place)}, {"kind", source.kind}, {"source", source.source}};
  }
  return json;
}

int Scenario::batch_at(int gpu_count) const {
  for (const BatchRule& rule : batch)
    if (gpu_count <= rule.up_to_gpus) return rule.batch;
  return batch.back().batch;
}

ParallelSpec Scenario::parallel_at(int gpu_count) const {
  if (!parallel) throw InputError(name + ": /parallel: no split; allowed: an object");
  return on_gpus(*parallel, gpu_count);
}

LoadedScenario load_scenario(const std::string& path, const std::vector<std::pair<std::string, std::string>>& settings,
                             const std::vector<int>& gpus) {
  JsonDocument document = JsonDocument::load(path);
  document.root().keys(scenario_format().keys());
  include_files(document);
  fill_defaults(document);
  const JsonDocument as_written = document;
  apply(document, settings, gpus);

  LoadedScenario loaded;
  loaded.shares_cluster = shares_cluster(document.root());
  if (document.root().has("jobs")) check_settings_of_jobs(document.root(), settings, gpus);
  loaded.resolved = document.json();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::vector<Variant> variants = read_variants(document.root());
  for (const Variant& variant : variants) {
    JsonDocument varied = as_written;
    for (const auto& [pointer, text] : variant.settings) {
      apply_setting(varied, pointer, text, variant.origin, folder);
    }
    apply(varied, settings, gpus);
    std::string note;
    loaded.variants.push_back(variants.size() > 1 ? read_variant(varied.root(), variant.name, note)
                                                  : read_scenario(varied.root(), variant.name));
    if (!note.empty()) loaded.notes.push_back(note);
    if (loaded.notes.size() == variants.size()) throw InputError(path + ": /convergence/profile: " + note);
    add_assumptions(loaded.assumptions, varied.assumptions());
    const auto inputs = inputs_of(varied, loaded.variants.back());
    loaded.inputs.insert(inputs.begin(), inputs.end());
  }
  return loaded;
}

}  // namespace lockstep::sim::scenario
