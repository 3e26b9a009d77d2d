#include "sim/models/models.hpp"

#include <algorithm>
#include <map>

#include "sim/models/model_tables.hpp"

namespace lockstep::sim {
namespace {

using model::Graph;
using model::Layer;

const std::string kFused = "_fused";

std::vector<FurtherModel> networks_of_images() {
  std::vector<FurtherModel> all = convolutional_models();
  for (const std::vector<FurtherModel>& more : {residual_models(), gated_models(), dense_models(), recurrent_models()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool is_transformer(const std::string& name) {
  const std::vector<TransformerModel> all = transformer_models();
  return std::any_of(all.begin(), all.end(), [&](const TransformerModel& entry) { return entry.name == name; });
}

// The name less "_fused"; empty where it is none of a transformer with fused attention.
std::string base_of_fused(const std::string& name) {
  if (name.size() <= kFused.size() || name.substr(name.size() - kFused.size()) != kFused) return "";
  const std::string base = name.substr(0, name.size() - kFused.size());
  return is_transformer(base) ? base : "";
}

bool costs_the_same(const Graph& a, const Graph& b) {
  return std::equal(
      a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(), [](const Layer& x, const Layer& y) {
        return x.name == y.name && x.kind == y.kind && x.macs == y.macs && x.input_elements == y.input_elements &&
               x.out.elements() == y.out.elements() && x.parameter_count() == y.parameter_count();
      });
}

}  // namespace

std::vector<std::string> further_models() {
  std::vector<std::string> names;
  for (const FurtherModel& entry : networks_of_images()) names.emplace_back(entry.name);
  for (const TransformerModel& entry : transformer_models()) names.push_back(entry.name);
  return names;
}

std::string further_models_text() {
  std::vector<Graph> graphs;
  for (const std::string& name : further_models()) graphs.push_back(network(name));
  return "For predictions alone; transformers also as NAME_fused, with attention whose scores stay on the chip:\n" +
         model::models_text(graphs);
}

const Graph& network(const std::string& id, Attention attention) {
  static std::map<std::pair<std::string, Attention>, Graph> built;
  const std::pair<std::string, Attention> key{id, attention};
  if (const auto known = built.find(key); known != built.end()) return known->second;
  for (const FurtherModel& entry : networks_of_images())
    if (id == entry.name) return built.emplace(key, entry.build()).first->second;
  for (const TransformerModel& entry : transformer_models())
    if (id == entry.name) return built.emplace(key, entry.build(attention)).first->second;
  return built.emplace(key, model::zoo_graph(id)).first->second;
}

const Graph& network_named(const std::string& name) {
  const std::string base = base_of_fused(name);
  return base.empty() ? network(name) : network(base, Attention::fused);
}

std::string network_name(const Graph& graph) {
  for (const std::string& name : {graph.name, graph.name + kFused}) try {
      if (costs_the_same(network_named(name), graph)) return name;
    } catch (const InputError&) {
      // a network of somebody's own
    }
  return "";
}

}  // namespace lockstep::sim
