#include "engine/model/zoo/token_graph.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::model::zoo {

TokenGraph::TokenGraph(std::string name, std::string title, int tokens, int width) {
  graph_.name = std::move(name);
  graph_.title = std::move(title);
  graph_.input = {width, tokens, 1};
  Layer input = start("input", LayerKind::input, {}, tokens, width);
  graph_.layers.edit().push_back(std::move(input));
}

Layer TokenGraph::start(const std::string& name, LayerKind kind, const std::vector<int>& from, int rows,
                        int features) const {
  const Shape shape{features, rows, 1};
  return {name, kind, from, shape, shape, {}, {}, 0, 0};
}

int TokenGraph::append(Layer layer) {
  graph_.layers.edit().push_back(std::move(layer));
  return static_cast<int>(graph_.layers.size()) - 1;
}

int TokenGraph::linear(const std::string& name, int from, int rows, int in, int out, bool bias) {
  const int layer = tied(name, from, rows, in, out);
  std::vector<Parameter>& parameters = graph_.layers.edit().back().parameters;
  parameters.push_back({name + "/weight", ParameterRole::weight, std::int64_t{in} * out});
  if (bias) parameters.push_back({name + "/bias", ParameterRole::bias, out});
  return layer;
}

int TokenGraph::convolution(const std::string& name, int from, Shape in, Shape out, int kernel) {
  Layer layer = start(name, LayerKind::conv, {from}, 1, 1);
  layer.in = in;
  layer.out = out;
  layer.window.kernel_h = layer.window.kernel_w = kernel;
  layer.input_elements = in.elements();
  const std::int64_t weights = std::int64_t{kernel} * kernel * in.channels * out.channels;
  layer.macs = weights * out.height * out.width;
  layer.parameters = {{name + "/weight", ParameterRole::weight, weights},
                      {name + "/bias", ParameterRole::bias, out.channels}};
  return append(std::move(layer));
}

int TokenGraph::tied(const std::string& name, int from, int rows, int in, int out) {
  Layer layer = start(name, LayerKind::linear, {from}, rows, out);
  layer.in = {in, rows, 1};
  layer.input_elements = std::int64_t{rows} * in;
  layer.macs = layer.input_elements * out;
  return append(std::move(layer));
}

int TokenGraph::product(const std::string& name, const std::vector<int>& from, std::int64_t macs,
                        std::int64_t input_elements, std::int64_t elements) {
  Layer layer = start(name, LayerKind::add, from, 1, static_cast<int>(elements));
  layer.input_elements = input_elements;
  layer.macs = macs;
  return append(std::move(layer));
}

int TokenGraph::each(const std::string& name, LayerKind kind, const std::vector<int>& from, std::int64_t elements) {
  Layer layer = start(name, kind, from, 1, static_cast<int>(elements));
  const bool is_sum = kind == LayerKind::add;
  layer.input_elements = is_sum ? elements * static_cast<std::int64_t>(from.size()) : elements;
  return append(std::move(layer));
}

int TokenGraph::norm(const std::string& name, int from, std::int64_t elements, int width) {
  const int layer = each(name, LayerKind::layer_norm, {from}, elements);
  graph_.layers.edit().back().parameters = {{name + "/gamma", ParameterRole::bn_gamma, width},
                                            {name + "/beta", ParameterRole::bn_beta, width}};
  return layer;
}

int TokenGraph::lookup(const std::string& name, int from, const std::vector<std::int64_t>& tables,
                       std::int64_t elements) {
  const int layer = each(name, tables.empty() ? LayerKind::concat : LayerKind::embedding, {from}, elements);
  for (const std::int64_t table : tables) {
    std::vector<Parameter>& parameters = graph_.layers.edit().back().parameters;
    parameters.push_back({name + "/" + std::to_string(parameters.size() + 1), ParameterRole::weight, table});
  }
  return layer;
}

}  // namespace lockstep::model::zoo
