#pragma once
// A network as a graph of layers with inferred shapes and exact counts.
//
// Counting: parameters are the learnable ones (batch-norm gamma and beta included, running statistics excluded);
// MACs are multiply-adds of one image's forward pass in convolutions and fully-connected layers, nothing else.
// A 2-D convolution with C inputs, K outputs, g groups, RxS kernel and an output of PxQ: K (C/g) R S weights,
// K (C/g) R S P Q MACs. A fully-connected layer with I inputs and O outputs: I O weights, I O MACs. An opaque layer has
// the counts that it is given.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::model {

enum class LayerKind {
  input,
  conv,
  fc,
  batch_norm,
  relu,
  max_pool,
  avg_pool,
  global_avg_pool,
  lrn,
  dropout,
  add,        ///< element-wise sum of its inputs (residual)
  concat,     ///< along channels
  softmax,    ///< softmax cross-entropy loss head
  subsample,  ///< every stride-th pixel, zero channels appended (the identity shortcut "option A" of He et al.)
  opaque,     ///< anything else, with the shape and the counts that it is given: predicted, never run
};
std::string to_string(LayerKind kind);

/// Activations of one image, channels first. A vector of n features is {n, 1, 1}.
struct Shape {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::int64_t elements() const { return std::int64_t{channels} * height * width; }
  bool operator==(const Shape& o) const { return channels == o.channels && height == o.height && width == o.width; }
};

enum class ParameterRole { weight, bias, bn_gamma, bn_beta };

struct Parameter {
  std::string name;  ///< "conv1/weight"
  ParameterRole role;
  std::int64_t elements;
};

/// Kernel, stride and padding of a convolution or pooling (of a subsample, only the stride); padding per side and
/// axis, zero where unused.
struct Window {
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  bool ceil = false;  ///< pooling: output size rounded up (Caffe) instead of down
  int groups = 1;     ///< convolutions
  bool operator==(const Window& o) const;
};

struct Layer {
  std::string name;
  LayerKind kind;
  std::vector<int> inputs;  ///< indices of earlier layers of the graph
  Shape in;                 ///< of the first input
  Shape out;
  Window window;                      ///< conv, max_pool, avg_pool, subsample
  std::vector<Parameter> parameters;  ///< in the order {weight, bias} or {gamma, beta}
  std::int64_t macs = 0;              ///< of one image, forward

  std::int64_t parameter_count() const;
  /// Elements of one image read in the forward pass: every input (of a subsample, the pixels it keeps).
  std::int64_t input_elements = 0;
};

/// Layers in topological order; layer 0 is the input. Names are unique.
struct Graph {
  std::string name;   ///< "resnet50"
  std::string title;  ///< "ResNet-50 v1 (stride in the first 1x1)"
  Shape input;
  std::vector<Layer> layers;

  std::int64_t parameter_count() const;
  std::int64_t macs() const;
  std::int64_t fc_parameter_count() const;
  int parameter_tensors() const;
};

/// A gradient tensor as back-propagation produces it.
struct Gradient {
  int layer;      ///< index in Graph::layers
  int parameter;  ///< index in Layer::parameters
  std::int64_t elements;
};

/// Gradient tensors in the order back-propagation produces them: layers from last to first; within a layer the last
/// parameter first (bias before weight: its gradient needs no convolution).
std::vector<Gradient> gradient_order(const Graph& graph);

/// Builds a graph layer by layer; each call returns the new layer's index and infers its shape.
/// Throws InputError naming the layer when shapes do not fit.
class GraphBuilder {
 public:
  GraphBuilder(std::string name, std::string title, Shape input);
  int conv(const std::string& name, int from, int out_channels, Window window, bool bias);
  int fc(const std::string& name, int from, int out_features, bool bias = true);
  int batch_norm(const std::string& name, int from);
  int relu(const std::string& name, int from);
  int max_pool(const std::string& name, int from, Window window);
  int avg_pool(const std::string& name, int from, Window window);
  int global_avg_pool(const std::string& name, int from);
  int lrn(const std::string& name, int from);
  int dropout(const std::string& name, int from);
  int add(const std::string& name, const std::vector<int>& from);
  int concat(const std::string& name, const std::vector<int>& from);
  int softmax(const std::string& name, int from);
  int subsample(const std::string& name, int from, int out_channels, int stride);
  /// What no other kind is: its output, the elements of its parameter tensors and its multiply-adds are taken as given.
  int opaque(const std::string& name, const std::vector<int>& from, Shape out,
             const std::vector<std::int64_t>& parameters, std::int64_t macs);
  /// Shape of a layer built so far, for a builder that depends on it.
  Shape shape(int layer) const { return graph_.layers.at(layer).out; }
  /// Refuses a graph without layers and a layer whose output nothing reads (but the last one and the loss heads).
  Graph finish();

 private:
  Layer start(const std::string& name, LayerKind kind, const std::vector<int>& from) const;
  int same_shape(const std::string& name, LayerKind kind, int from);
  int pool(const std::string& name, LayerKind kind, int from, const Window& window);
  int append(Layer layer);
  [[noreturn]] void fail(const std::string& layer, const std::string& wrong) const;

  Graph graph_;
  std::set<std::string> names_;
};

/// A user's own model, {"schema": "lockstep/model/1", "name", "input": [C, H, W], "layers": [...]}; see graph_json.cpp.
Graph graph_from_json(const JsonNode& node);
/// The same form, so that graph_from_json(to_json(graph)) is the graph again; keys at their default are left out.
Json to_json(const Graph& graph);

/// A row for each: name, input, parameters, multiply-adds.
std::string models_text(const std::vector<Graph>& graphs);
/// Text of `simulate --show-model NAME`.
std::string show_model_text(const Graph& graph);

}  // namespace lockstep::model
