// The table of the zoo. Sizes are checked layer by layer against tests/data/models/layers.tsv, or as sums against
// publications.
#include "engine/model/zoo/zoo.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "engine/base/text.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model {
namespace {

using zoo::Entry;

const std::string kFused = "_fused";

struct Alias {
  const char* alias;
  const char* name;
};

// AlexNet is Krizhevsky's, with groups, as texts of publications mean it too.
constexpr std::array<Alias, 4> kAliases{{
    {"lenet", "lenet_crossbow"},
    {"alexnet", "alexnet_grouped"},
    {"resnet32", "resnet32_crossbow"},
    {"googlenet", "googlenet_noaux"},
}};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> joined;
    for (const auto file : {zoo::small_networks, zoo::alexnets_and_vggs, zoo::googlenets, zoo::inceptions, zoo::resnets,
                            zoo::convolutional_networks, zoo::residual_networks, zoo::gated_networks,
                            zoo::dense_networks, zoo::recurrent_networks, zoo::transformers})
      for (Entry& entry : file()) joined.push_back(std::move(entry));
    return joined;
  }();
  return all;
}

const Entry* find_entry(const std::string& name) {
  const auto found = std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return e.name == name; });
  return found == entries().end() ? nullptr : &*found;
}

std::string resolve(const std::string& name) {
  for (const Alias& alias : kAliases)
    if (name == alias.alias) return alias.name;
  return name;
}

// The name less "_fused"; empty where it is none of a network with attention.
std::string base_of_fused(const std::string& name) {
  if (name.size() <= kFused.size() || name.substr(name.size() - kFused.size()) != kFused) return "";
  const std::string base = name.substr(0, name.size() - kFused.size());
  const Entry* entry = find_entry(base);
  return entry != nullptr && entry->build_fused ? base : "";
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  std::vector<std::string> names = zoo_names();
  for (const Alias& alias : kAliases) names.emplace_back(alias.alias);
  throw InputError("model " + in_quotes(name) +
                   " is unknown; allowed: a .json file, or a name of --list-models, such as " +
                   joined(nearest_names(name, names)));
}

Graph build(const std::string& name) {
  const std::string base = base_of_fused(name);
  if (!base.empty()) return find_entry(base)->build_fused();
  const Entry* entry = find_entry(name);
  if (entry == nullptr) refuse_unknown(name);
  return entry->build();
}

bool costs_the_same(const Graph& a, const Graph& b) {
  return std::equal(
      a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), [](const Layer& x, const Layer& y) {
        return x.name == y.name && x.kind == y.kind && x.macs == y.macs && x.input_elements == y.input_elements &&
               x.out.elements() == y.out.elements() && x.parameter_count() == y.parameter_count();
      });
}

bool is_file(const std::string& name_or_file) {
  const std::string ending = ".json";
  return name_or_file.size() > ending.size() &&
         name_or_file.compare(name_or_file.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.push_back(entry.name);
  return names;
}

std::vector<std::string> trainable_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries())
    if (entry.lacks.empty()) names.push_back(entry.name);
  return names;
}

const Graph& zoo_graph(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Graph> built;
  const std::string resolved = resolve(name);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = built.find(resolved);
  return known != built.end() ? known->second : built.emplace(resolved, build(resolved)).first->second;
}

std::string fused_attention_name(const std::string& name) {
  const Entry* entry = find_entry(name);
  return entry != nullptr && entry->build_fused ? name + kFused : name;
}

std::string zoo_name_of(const Graph& graph) {
  if (find_entry(graph.name) == nullptr) return "";
  for (const std::string& name : {graph.name, fused_attention_name(graph.name)})
    if (costs_the_same(zoo_graph(name), graph)) return name;
  return "";
}

Graph graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs) {
  if (!is_file(name_or_file)) return zoo_graph(name_or_file);
  const JsonDocument document = JsonDocument::load(name_or_file);
  inputs.insert(document.inputs().begin(), document.inputs().end());
  return graph_from_json(document.root());
}

Graph trainable_graph_of(const std::string& name_or_file, std::map<std::string, std::string>& inputs) {
  Graph graph = graph_of(name_or_file, inputs);
  const Entry* entry = is_file(name_or_file) ? nullptr : find_entry(graph.name);
  if (entry == nullptr || entry->lacks.empty()) return graph;
  throw InputError("model " + in_quotes(name_or_file) + " is predicted, not trained: no backend has its " +
                   entry->lacks + "; allowed: the nearest that are trained, " +
                   joined(nearest_names(entry->name, trainable_names())) + ", or others of --list-models");
}

std::string list_models_text() {
  std::vector<Graph> trained, predicted;
  for (const Entry& entry : entries()) (entry.lacks.empty() ? trained : predicted).push_back(zoo_graph(entry.name));
  return models_text(trained) +
         "\nPredicted, not trained; transformers also as NAME_fused, with attention whose scores stay on the chip:\n" +
         models_text(predicted);
}

}  // namespace lockstep::model
