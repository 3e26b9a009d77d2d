#pragma once
// Graphs of sequence networks for cost predictions, with more detail than GraphBuilder's layers: attention with its
// scores in memory, recurrence token by token. Each layer has the parameters, multiply-adds and elements given for it.
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model::zoo {

class TokenGraph {
 public:
  /// The input is `tokens` vectors of `width` features.
  TokenGraph(std::string name, std::string title, int tokens, int width);

  /// Multiplies `rows` vectors by a matrix of in x out: in * out weights, rows * in * out multiply-adds.
  int linear(const std::string& name, int from, int rows, int in, int out, bool bias = true);
  /// Applies a square kernel to an image, with bias.
  int convolution(const std::string& name, int from, Shape in, Shape out, int kernel);
  /// Does the same as linear(), with the matrix of another layer.
  int tied(const std::string& name, int from, int rows, int in, int out);
  /// The product of two activations: multiply-adds without parameters. Its backward pass is two products of that size.
  int product(const std::string& name, const std::vector<int>& from, std::int64_t macs, std::int64_t input_elements,
              std::int64_t elements);
  /// Element-wise work on `elements` elements; layer_cost.cpp gives the number of passes over memory for the kind.
  int each(const std::string& name, LayerKind kind, const std::vector<int>& from, std::int64_t elements);
  /// Sets the number of tokens per sample; without it, samples are images.
  void count_tokens(int tokens) { graph_.tokens = tokens; }
  /// Adds a norm of vectors of `width` features, with a gain and a bias per feature.
  int norm(const std::string& name, int from, std::int64_t elements, int width);
  /// Looks up rows of tables and copies them; `tables` lists the number of parameters per table.
  int lookup(const std::string& name, int from, const std::vector<std::int64_t>& tables, std::int64_t elements);

  Graph finish() { return std::move(graph_); }

 private:
  Layer start(const std::string& name, LayerKind kind, const std::vector<int>& from, int rows, int features) const;
  int append(Layer layer);

  Graph graph_;
};

}  // namespace lockstep::model::zoo
