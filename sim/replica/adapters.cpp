#include "sim/replica/adapters.hpp"

#include <map>

#include "engine/base/index.hpp"
#include "sim/split/stages.hpp"

namespace lockstep::sim::replica {
namespace {

using model::Layer;
using model::LayerKind;

constexpr const char* kAdapter = "/adapter/";

std::int64_t tokens_of(const Layer& layer) {
  return std::int64_t{layer.out.height} * layer.out.width;
}

// Makes a layer with the inputs of `beside`: gradients come from and go to the same layers.
Layer layer_beside(const Layer& beside, const std::string& name, LayerKind kind, int in, int out) {
  Layer layer;
  layer.name = beside.name + kAdapter + name;
  layer.kind = kind;
  layer.inputs = beside.inputs;
  layer.in = {in, beside.out.height, beside.out.width};
  layer.out = {out, beside.out.height, beside.out.width};
  layer.input_elements = layer.in.elements();
  return layer;
}

Layer matrix_beside(const Layer& beside, const std::string& name, int in, int out) {
  Layer layer = layer_beside(beside, name, LayerKind::linear, in, out);
  layer.parameters.push_back({layer.name + "/weight", model::ParameterRole::weight, std::int64_t{in} * out});
  layer.macs = std::int64_t{in} * out * tokens_of(layer);
  return layer;
}

void add_adapter(std::vector<Layer>& layers, const Layer& beside, const std::string& of, int in, int out, int rank) {
  layers.push_back(matrix_beside(beside, of + "/down", in, rank));
  layers.push_back(matrix_beside(beside, of + "/up", rank, out));
  Layer sum = layer_beside(beside, of + "/sum", LayerKind::add, out, out);
  sum.input_elements *= 2;
  layers.push_back(sum);
}

// Holds the linear layers that read one input, and the last one, whose output leaves the attention or the network.
struct Matrices {
  const Layer* first = nullptr;
  int width_before = 0;
  const Layer* behind = nullptr;
  int behind_at = 0;
};

Matrices matrices_of_attention(const model::Graph& graph, const Block& block) {
  Matrices found;
  bool is_behind = false;
  for (int i = block.first_layer; i <= block.last_layer && found.behind == nullptr; ++i) {
    const Layer& layer = graph.layers[to_index(i)];
    is_behind = is_behind || layer.kind == LayerKind::attention;
    if (layer.kind != LayerKind::linear) continue;
    if (is_behind) {
      found.behind = &layer;
      found.behind_at = i;
      continue;
    }
    if (found.first == nullptr) found.first = &layer;
    if (layer.in.channels == found.first->in.channels) found.width_before += layer.out.channels;
  }
  return found;
}

// Returns the matrices of a dense network: those behind the output matrix of an attention or a recurrence, or all of a
// block without these. None if the block has experts.
Matrices matrices_of_network(const model::Graph& graph, const Block& block) {
  Matrices found;
  bool is_mixing = false;
  for (int i = block.first_layer; i <= block.last_layer; ++i) {
    const Layer& layer = graph.layers[to_index(i)];
    if (layer.kind == LayerKind::experts) return {};
    if (layer.kind == LayerKind::attention || layer.kind == LayerKind::recurrence) {
      found = {};
      is_mixing = true;
    }
    if (layer.kind != LayerKind::linear) continue;
    if (is_mixing) {
      is_mixing = false;  // the output matrix
      continue;
    }
    if (found.first == nullptr) found.first = &layer;
    if (found.behind != nullptr) found.width_before += found.behind->out.channels;
    found.behind = &layer;
    found.behind_at = i;
  }
  return found.width_before > 0 ? found : Matrices{};
}

}  // namespace

model::Graph with_adapters(const model::Graph& graph, int rank, LoraTarget target) {
  std::vector<Layer> all;
  std::vector<int> new_index(graph.layers.size(), 0);
  const ModelBlocks blocks = blocks_of(graph);
  std::map<int, Matrices> by_output;  // by the layer that they follow
  for (const Block& block : blocks.blocks) {
    const Matrices of_attention = matrices_of_attention(graph, block);
    if (of_attention.behind != nullptr) by_output.emplace(of_attention.behind_at, of_attention);
    if (target != LoraTarget::all) continue;
    if (const Matrices network = matrices_of_network(graph, block); network.behind != nullptr)
      by_output.emplace(network.behind_at, network);
  }
  for (int i = 0; i < static_cast<int>(graph.layers.size()); ++i) {
    Layer layer = graph.layers[to_index(i)];
    for (int& input : layer.inputs) input = new_index[to_index(input)];
    new_index[to_index(i)] = static_cast<int>(all.size());
    all.push_back(std::move(layer));
    const auto found = by_output.find(i);
    if (found == by_output.end()) continue;
    const Matrices& matrices = found->second;
    const Layer behind = all.back();
    if (matrices.first != nullptr)
      add_adapter(all, behind, "inputs", matrices.first->in.channels, matrices.width_before, rank);
    add_adapter(all, behind, "output", behind.in.channels, behind.out.channels, rank);
  }
  model::Graph adapted = graph;
  adapted.layers = std::move(all);
  return adapted;
}

bool is_of_adapter(const Layer& layer) {
  return layer.name.find(kAdapter) != std::string::npos;
}

}  // namespace lockstep::sim::replica
