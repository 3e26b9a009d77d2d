#pragma once
// Graphs of networks whose samples are sequences, for their costs alone, where they are taken apart further than
// GraphBuilder's layers are: attention in passes, recurrence token by token. Layers have the parameters, multiply-adds
// and elements that they are given.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model::zoo {

class TokenGraph {
 public:
  /// `tokens` vectors of `width` features go in.
  TokenGraph(std::string name, std::string title, int tokens, int width);

  /// `rows` vectors times a matrix of in x out: in * out weights, rows * in * out multiply-adds.
  int linear(const std::string& name, int from, int rows, int in, int out, bool bias = true);
  /// A square kernel over an image, with bias.
  int convolution(const std::string& name, int from, Shape in, Shape out, int kernel);
  /// As linear() with a matrix that another layer has.
  int tied(const std::string& name, int from, int rows, int in, int out);
  /// A product of two activations: multiply-adds without parameters; backward it is two products as large.
  int product(const std::string& name, const std::vector<int>& from, std::int64_t macs, std::int64_t input_elements,
              std::int64_t elements);
  /// Passes over elements, as many as layer_cost.cpp has for the kind.
  int each(const std::string& name, LayerKind kind, const std::vector<int>& from, std::int64_t elements);
  /// Tokens of a sample; without, samples are images.
  void count_tokens(int tokens) { graph_.tokens = tokens; }
  /// Normalises vectors of `width` features, with a gain and a bias for each.
  int norm(const std::string& name, int from, std::int64_t elements, int width);
  /// Rows of tables with so many parameters, looked up and copied.
  int lookup(const std::string& name, int from, const std::vector<std::int64_t>& tables, std::int64_t elements);

  Graph finish() { return std::move(graph_); }

 private:
  Layer start(const std::string& name, LayerKind kind, const std::vector<int>& from, int rows, int features) const;
  int append(Layer layer);

  Graph graph_;
};

}  // namespace lockstep::model::zoo
