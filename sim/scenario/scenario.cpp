#include "sim/scenario/scenario.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "engine/base/provenance.hpp"
#include "engine/base/text.hpp"
#include "sim/models/models.hpp"
#include "sim/scenario/communication_read.hpp"
#include "sim/scenario/compute_read.hpp"
#include "sim/scenario/convergence_read.hpp"
#include "sim/scenario/defaults.hpp"
#include "sim/scenario/ranges.hpp"

namespace lockstep::sim {
namespace {

const std::vector<std::string> kKeys{
    "schema",        "name",      "description", "cluster",   "model",         "gpus",        "baseline",
    "batch_per_gpu", "compute",   "input",       "algorithm", "communication", "convergence", "uncertainty",
    "iterations",    "seed",      "fidelity",    "published", "variants",      "learners",    "parameter_server",
    "workers",       "local_sgd", "sharding",    "theano_mpi"};

std::vector<BatchRule> read_batch(const JsonNode& node) {
  if (!node.is_array()) return {{kMostGpus, static_cast<int>(node.integer(1, kLargestBatch))}};
  std::vector<BatchRule> rules;
  for (const JsonNode& item : node.items()) {
    item.keys({"up_to_gpus", "batch"});
    const BatchRule rule{static_cast<int>(item.at("up_to_gpus").integer(1, kMostGpus)),
                         static_cast<int>(item.at("batch").integer(1, kLargestBatch))};
    if (!rules.empty() && rule.up_to_gpus <= rules.back().up_to_gpus)
      item.at("up_to_gpus")
          .fail("not in ascending order", "allowed: more than " + std::to_string(rules.back().up_to_gpus));
    rules.push_back(rule);
  }
  if (rules.empty()) node.fail("empty list", "allowed: a batch size, or [{\"up_to_gpus\", \"batch\"}, ...]");
  return rules;
}

UncertaintySpec read_uncertainty(const JsonNode& node) {
  node.keys({"compute", "bandwidth", "latency", "epochs"});
  return {node.at("compute").sourced_number({0, 0.9}), node.at("bandwidth").sourced_number({0, 0.9}),
          node.at("latency").sourced_number({0, 0.9}), node.at("epochs").sourced_number({0, 0.9})};
}

struct Variant {
  std::string name;
  std::string origin;  // "FILE: /variants/0/set", for errors
  std::vector<std::pair<std::string, std::string>> settings;
};

bool is_named(const std::vector<Variant>& variants, const std::string& name) {
  return std::any_of(variants.begin(), variants.end(), [&](const Variant& v) { return v.name == name; });
}

std::vector<Variant> read_variants(const JsonNode& root) {
  const auto node = root.find("variants");
  if (!node) return {{"", "", {}}};
  std::vector<Variant> variants;
  for (const JsonNode& item : node->items()) {
    item.keys({"name", "set"});
    if (is_named(variants, item.at("name").text())) item.at("name").fail("another variant has this name");
    Variant variant{item.at("name").text(), root.document().name() + ": " + item.pointer() + "/set", {}};
    for (const auto& [pointer, value] : item.at("set").members())
      variant.settings.emplace_back(pointer, value.json().dump());
    variants.push_back(variant);
  }
  if (variants.empty()) node->fail("empty list", "allowed: [{\"name\", \"set\": {\"/json/pointer\": value}}, ...]");
  return variants;
}

double read_published_value(const JsonNode& node, PublishedMetric metric) {
  switch (metric) {
    case PublishedMetric::scaling_efficiency:
      return node.number({1e-6, 10});
    case PublishedMetric::throughput_gain:
      return node.number({-1, 1000});
    case PublishedMetric::samples_per_s:
      return node.quantity(Dimension::rate, {1e-9, 1e12});
    case PublishedMetric::iteration:
    case PublishedMetric::time_to_accuracy:
      break;
  }
  return node.quantity(Dimension::time, {1e-9, 1e12});
}

// Results of this variant, and those that name none.
std::vector<PublishedSpec> read_published(const JsonNode& node, const std::string& variant,
                                          const std::vector<Variant>& variants) {
  std::vector<PublishedSpec> results;
  for (const JsonNode& item : node.items()) {
    item.keys({"gpus", "metric", "value", "source", "used_for_fit", "variant", "over"});
    PublishedSpec result;
    result.gpus = static_cast<int>(item.at("gpus").integer(1, kMostGpus));
    result.metric = read_choice<PublishedMetric>(item.at("metric"));
    result.value = read_published_value(item.at("value"), result.metric);
    const auto over = item.find("over");
    if (over && result.metric != PublishedMetric::throughput_gain)
      over->fail("\"" + name_of(result.metric) + "\" is compared with no variant", "allowed: with \"throughput_gain\"");
    if (result.metric == PublishedMetric::throughput_gain) {
      result.over = item.at("over").text();
      if (!is_named(variants, result.over)) over->fail("no such variant", "allowed: a name of /variants");
    }
    result.source = item.at("source").text();
    if (const auto fitted = item.find("used_for_fit")) result.is_fitted = fitted->boolean();
    const auto only_for = item.find("variant");
    if (only_for && !is_named(variants, only_for->text()))
      only_for->fail("no such variant", "allowed: a name of /variants");
    if (!only_for || only_for->text() == variant) results.push_back(result);
  }
  return results;
}

std::vector<int> read_gpus(const JsonNode& node) {
  std::vector<int> gpus;
  for (const JsonNode& item : node.items()) gpus.push_back(static_cast<int>(item.integer(1, kMostGpus)));
  if (gpus.empty()) node.fail("empty list", "allowed: one or more GPU counts");
  return gpus;
}

// Whole nodes, or a part of one.
void check_gpus(const JsonNode& node, int gpus, const ClusterSpec& cluster) {
  const int most = cluster.nodes * cluster.gpus_per_node;
  if (gpus > most)
    node.fail(std::to_string(gpus) + " GPUs are more than the cluster has", "allowed: at most " + std::to_string(most));
  if (gpus > cluster.gpus_per_node && gpus % cluster.gpus_per_node != 0)
    node.fail(std::to_string(gpus) + " GPUs do not fill whole nodes",
              "allowed: multiples of " + std::to_string(cluster.gpus_per_node));
}

void check_torus(const JsonNode& node, int gpus, const Scenario& s) {
  const int columns = s.communication.torus_columns > 0 ? s.communication.torus_columns : s.cluster.gpus_per_node;
  if (s.communication.all_reduce == AllReduceKind::torus && gpus > columns && gpus % columns != 0)
    node.fail("a torus of " + std::to_string(columns) + " columns does not divide " + std::to_string(gpus) + " GPUs");
}

// An all-reduce that was not measured is not guessed.
void check_profile_all_reduce(const JsonNode& node, int gpus, const Scenario& s) {
  if (s.communication.all_reduce != AllReduceKind::profile) return;
  if (!s.compute.profile) node.fail("all_reduce \"profile\" without a profile", "allowed: one in /compute/profile");
  if (gpus > 1 && !s.compute.profile.all_reduce(gpus))
    node.fail("the profile has no " + s.compute.profile.exchange + " over " + std::to_string(gpus) + " devices");
}

// What an algorithm does not do is refused rather than ignored.
void check_exchange(const JsonNode& root, const Scenario& s) {
  const JsonNode communication = root.at("communication");
  const bool is_s_sgd = s.algorithm == Algorithm::s_sgd;
  const bool loads = is_s_sgd || s.algorithm == Algorithm::local_sgd || s.algorithm == Algorithm::sharded ||
                     s.algorithm == Algorithm::theano_mpi;
  if (s.communication.accumulation > 1 && !is_s_sgd)
    communication.at("accumulation")
        .fail("\"" + name_of(s.algorithm) + "\" does not accumulate gradients", "allowed: 1");
  if (s.input.loading.blocking && !loads)
    root.at("input").at("loading").fail("\"" + name_of(s.algorithm) + "\" loads beside the training",
                                        "allowed: parallel");
  if (s.input.is_on_links && has_workers(s.algorithm))
    root.at("input").at("traffic").fail("\"" + name_of(s.algorithm) + "\" has no input", "allowed: aside");
  if (s.algorithm == Algorithm::sharded && s.communication.all_reduce != AllReduceKind::ring &&
      s.communication.all_reduce != AllReduceKind::nccl)
    communication.at("all_reduce").fail("shards are gathered by ring or nccl", "allowed: ring, nccl");
  if (s.algorithm == Algorithm::theano_mpi && s.communication.wire != Wire::fp32)
    communication.at("wire").fail("Theano-MPI's wire follows from its exchange", "allowed: fp32");
}

// Nodes that a point occupies, servers of parameters on nodes of their own included.
int occupied_nodes(const Scenario& s, int gpus) {
  const int separate = s.parameter_server && s.parameter_server->separate ? s.parameter_server->servers : 0;
  return (gpus + s.cluster.gpus_per_node - 1) / s.cluster.gpus_per_node + separate;
}

// A file server has a node of its own, after all others.
void check_file_server(const JsonNode& root, const Scenario& s, int gpus) {
  if (!s.input.reads_over_links() || occupied_nodes(s, gpus) < s.cluster.nodes) return;
  root.at("input").at("traffic").fail(
      "the cluster has no node for the file server beside " + std::to_string(gpus) + " GPUs",
      "allowed: a cluster of at least " + std::to_string(occupied_nodes(s, gpus) + 1) + " nodes");
}

void check_consistency(const JsonNode& root, const Scenario& s) {
  check_exchange(root, s);
  if (s.convergence && s.convergence->profile) check_profile(root.at("convergence"), s);
  check_gpus(root.at("baseline").at("gpus"), s.baseline_gpus, s.cluster);
  const std::vector<JsonNode> counts = root.at("gpus").items();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    check_gpus(counts[i], s.gpus[i], s.cluster);
    if (s.gpus[i] > s.batch.back().up_to_gpus)
      counts[i].fail("no batch size for " + std::to_string(s.gpus[i]) + " GPUs",
                     "allowed: at most " + std::to_string(s.batch.back().up_to_gpus) + " by /batch_per_gpu");
    check_torus(counts[i], s.gpus[i], s);
    check_profile_all_reduce(counts[i], s.gpus[i], s);
    check_file_server(root, s, s.gpus[i]);
    if (s.workers) check_workers(root.at("workers"), *s.workers, s.cluster, s.gpus[i]);
    if (s.parameter_server) check_servers(root.at("parameter_server"), *s.parameter_server, s.cluster, s.gpus[i]);
  }
  check_torus(root.at("baseline").at("gpus"), s.baseline_gpus, s);
  check_file_server(root, s, s.baseline_gpus);
  check_profile_all_reduce(root.at("baseline").at("gpus"), s.baseline_gpus, s);
  if (s.model.parameter_count() == 0) root.at("model").fail("the model has no parameters to train");
  if (s.cluster.gpu.peak_flops(s.compute.precision) <= 0)
    root.at("compute")
        .at("precision")
        .fail("the cluster's GPU has no peak rate for \"" + name_of(s.compute.precision) + "\"");
}

model::Graph read_model(const JsonNode& node) {
  if (node.is_object()) return model::graph_from_json(node);
  const std::string name = node.text();
  try {
    return network_named(name);
  } catch (const InputError&) {
    node.fail("unknown model \"" + name + "\"", "allowed: a name of --list-models, or a .json file");
  }
}

void read_identity(const JsonNode& root, Scenario& s) {
  root.keys(kKeys);
  root.at("schema").choice({"lockstep/scenario/1"});
  s.name = root.at("name").text();
  if (const auto description = root.find("description")) s.description = description->text();
  s.algorithm = read_choice<Algorithm>(root.at("algorithm"));
}

// With as many devices busy as the largest point has on a node.
void take_fill_of_profile(const JsonNode& node, Scenario& s) {
  const ProfileSpec& profile = s.compute.profile;
  if (!profile) node.fail("no profile in /compute/profile", "allowed: a fraction, or [{\"batch\", \"fill\"}, ...]");
  s.learners.fill = profile.fill(std::min(*std::max_element(s.gpus.begin(), s.gpus.end()), s.cluster.gpus_per_node));
  if (s.learners.fill.empty())
    node.fail("the profile has no iterations of several learners on a device",
              "allowed: a fraction, or [{\"batch\", \"fill\"}, ...]");
  for (const FillSpec& f : s.learners.fill)
    node.document().note({node.pointer() + "/" + std::to_string(f.batch), short_number(f.fill), "measured",
                          "profile " + profile.profile->name + ", iterations of several learners over those of one"});
}

// Variants may use what the others do not: mistakes are found all the same.
void check_unused_workers(const JsonNode& node, const Scenario& s) {
  check_workers(node, read_workers(node, Algorithm::backup_workers), s.cluster,
                *std::max_element(s.gpus.begin(), s.gpus.end()));
}

Scenario read_scenario(const JsonNode& root, const std::string& variant) {
  Scenario s;
  s.variant = variant;
  read_identity(root, s);
  s.cluster = read_cluster(root.at("cluster"));
  s.model = read_model(root.at("model"));
  s.gpus = read_gpus(root.at("gpus"));
  root.at("baseline").keys({"gpus"});
  s.baseline_gpus = static_cast<int>(root.at("baseline").at("gpus").integer(1, kMostGpus));
  s.batch = read_batch(root.at("batch_per_gpu"));
  s.compute = read_compute(root.at("compute"), s.model.name);
  s.input = read_input(root.at("input"));
  s.communication = read_communication(root.at("communication"), s.cluster);
  if (s.communication.all_reduce == AllReduceKind::profile_average) {
    s.communication.all_reduce = AllReduceKind::profile;
    s.compute.profile.exchange = "average";
  }
  if (const auto learners = root.find("learners")) s.learners = read_learners(*learners);
  if (s.learners.fill_of_profile) take_fill_of_profile(root.at("learners").at("fill"), s);
  if (const auto server = root.find("parameter_server")) s.parameter_server = read_parameter_server(*server);
  if (has_workers(s.algorithm)) s.workers = read_workers(root.at("workers"), s.algorithm);
  if (!s.workers && root.has("workers")) check_unused_workers(root.at("workers"), s);
  if (const auto object = root.find("local_sgd")) s.local_sgd = read_local_sgd(*object);
  if (const auto object = root.find("sharding")) s.sharding = read_sharding(*object);
  if (const auto object = root.find("theano_mpi")) s.theano_mpi = read_theano_mpi(*object);
  if (const auto convergence = root.find("convergence")) s.convergence = read_convergence(*convergence);
  s.published = read_published(root.at("published"), variant, read_variants(root));
  s.uncertainty = read_uncertainty(root.at("uncertainty"));
  s.iterations = static_cast<int>(root.at("iterations").integer(1, 100000));
  s.seed = static_cast<std::uint64_t>(root.at("seed").integer(0, std::numeric_limits<std::int64_t>::max()));
  s.fidelity = read_choice<Fidelity>(root.at("fidelity"));
  check_consistency(root, s);
  return s;
}

// A cluster is a file or an object; a model is the name of one of the zoo's, a file or an object.
void include_files(JsonDocument& document) {
  document.include("/cluster");
  document.include("/cluster/profile");
  document.include("/model");
  document.include("/workers/delay/samples");
  document.include("/compute/profile");
  document.include("/convergence/profile");
  document.include("/communication/nccl/profile");
}

// The command line has the last word; then defaults fill what whole objects set by it or by a variant leave out.
void apply(JsonDocument& document, const std::vector<std::pair<std::string, std::string>>& settings,
           const std::vector<int>& gpus) {
  for (const auto& [pointer, text] : settings) {
    document.set(pointer, text);
    include_files(document);
  }
  if (!gpus.empty()) document.set("/gpus", Json(gpus).dump(), "--gpus");
  fill_defaults(document);
  fill_baseline(document);
}

void set_nodes(JsonDocument& document, const Setting& setting) {
  const JsonDocument number = JsonDocument::parse(setting.text, setting.origin);
  const std::int64_t nodes = number.root().integer(1, kMostGpus);
  document.set("/gpus", Json::array({nodes * gpus_per_node(document.json())}).dump(), setting.origin);
}

std::map<std::string, std::string> inputs_of(const JsonDocument& document, const Scenario& scenario) {
  std::map<std::string, std::string> inputs = document.inputs();
  if (scenario.workers && !scenario.workers->delay.samples_file.empty())
    inputs[scenario.workers->delay.samples_file] = sha256_file(scenario.workers->delay.samples_file);
  return inputs;
}

// What several variants rest on alike is listed once.
void add_assumptions(std::vector<Assumption>& all, const std::vector<Assumption>& more) {
  for (const Assumption& a : more) {
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const Assumption& b) {
      return a.pointer == b.pointer && a.value == b.value && a.kind == b.kind && a.source == b.source;
    });
    if (!is_known) all.push_back(a);
  }
}

}  // namespace

int Scenario::batch_at(int gpu_count) const {
  for (const BatchRule& rule : batch)
    if (gpu_count <= rule.up_to_gpus) return rule.batch;
  return batch.back().batch;
}

ScenarioTemplate ScenarioTemplate::load(const std::string& path, const std::string& variant) {
  return ScenarioTemplate(JsonDocument::load(path), variant);
}

ScenarioTemplate ScenarioTemplate::parse(const std::string& text, const std::string& name, const std::string& variant) {
  return ScenarioTemplate(JsonDocument::parse(text, name), variant);
}

ScenarioTemplate::ScenarioTemplate(JsonDocument document, const std::string& variant)
    : document_(std::move(document)), variant_(variant) {
  document_.root().keys(kKeys);
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
    document_.set(pointer, text, chosen->origin, folder);
    include_files(document_);
  }
}

LoadedScenario ScenarioTemplate::with(const std::vector<Setting>& settings) const {
  JsonDocument varied = document_;
  const Setting* nodes = nullptr;
  bool has_new_members = false;  // an algorithm that brings objects, whose members the next settings may set
  for (const Setting& s : settings) {
    const bool is_member = s.pointer.find('/', 1) == std::string::npos;
    if (s.pointer == "/nodes") {
      nodes = &s;
      continue;
    }
    if (has_new_members && !is_member) fill_defaults(varied);
    has_new_members = is_member;
    varied.set(s.pointer, s.text, s.origin, s.folder);
    include_files(varied);
  }
  if (nodes) set_nodes(varied, *nodes);
  fill_defaults(varied);
  fill_baseline(varied);
  LoadedScenario loaded;
  loaded.variants.push_back(read_scenario(varied.root(), variant_));
  loaded.resolved = varied.json();
  loaded.assumptions = varied.assumptions();
  loaded.inputs = inputs_of(varied, loaded.variants.back());
  return loaded;
}

LoadedScenario load_scenario(const std::string& path, const std::vector<std::pair<std::string, std::string>>& settings,
                             const std::vector<int>& gpus) {
  JsonDocument document = JsonDocument::load(path);
  document.root().keys(kKeys);
  include_files(document);
  fill_defaults(document);
  const JsonDocument as_written = document;
  apply(document, settings, gpus);

  LoadedScenario loaded;
  loaded.resolved = document.json();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  for (const Variant& variant : read_variants(document.root())) {
    JsonDocument varied = as_written;
    for (const auto& [pointer, text] : variant.settings) {
      varied.set(pointer, text, variant.origin, folder);
      include_files(varied);
    }
    apply(varied, settings, gpus);
    loaded.variants.push_back(read_scenario(varied.root(), variant.name));
    add_assumptions(loaded.assumptions, varied.assumptions());
    const auto inputs = inputs_of(varied, loaded.variants.back());
    loaded.inputs.insert(inputs.begin(), inputs.end());
  }
  return loaded;
}

}  // namespace lockstep::sim
