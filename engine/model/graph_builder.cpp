// Shape inference. Every public function makes one Layer, checks that it fits its inputs and appends it.
#include <algorithm>
#include <utility>

#include "engine/base/text.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/memory_plan.hpp"

namespace lockstep::model {
namespace {

// Limits far above any real network. Sums over a whole graph then fit into 64 bits.
constexpr double kMostOutputs = 1e13;
constexpr double kMostParameters = 1e12;
constexpr double kMostMacs = 1e13;   // of one image layer
constexpr double kMostOfAll = 1e18;  // multiply-adds of a model
constexpr int kLargestAxis = 1'000'000'000;
constexpr int kLargestWindow = 1'000'000;

std::string text(const Shape& shape) {
  return std::to_string(shape.channels) + "x" + std::to_string(shape.height) + "x" + std::to_string(shape.width);
}

std::string by(int height, int width) {
  return std::to_string(height) + "x" + std::to_string(width);
}

/// A product in double, because the exact one could overflow before it is compared with a limit.
double product(std::initializer_list<int> factors) {
  double result = 1;
  for (int factor : factors) result *= factor;
  return result;
}

/// Positions of a window along one axis: (size + pads - kernel) / stride + 1, rounded down or up. Rounding up could
/// start the last window in the padding behind the image, where it would see nothing; that window is dropped.
int slide(int size, int pad_before, int pad_after, int kernel, int stride, bool ceil) {
  const int span = size + pad_before + pad_after - kernel;
  int steps = span / stride;
  if (ceil && span % stride != 0 && (steps + 1) * std::int64_t{stride} < size + pad_before) ++steps;
  return steps + 1;
}

/// The reason why a window does not fit its input; empty if it fits.
std::string window_problem(const Window& w, const Shape& in) {
  const int smallest = std::min({w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.groups});
  const int least_pad = std::min({w.pad_top, w.pad_bottom, w.pad_left, w.pad_right});
  const int largest = std::max(
      {w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.pad_top, w.pad_bottom, w.pad_left, w.pad_right, w.groups});
  if (smallest < 1) return "kernel, stride and groups must be at least 1";
  if (least_pad < 0) return "padding must not be negative";
  if (largest > kLargestWindow) return "kernel, stride, padding or groups above " + std::to_string(kLargestWindow);
  const int height = in.height + w.pad_top + w.pad_bottom;
  const int width = in.width + w.pad_left + w.pad_right;
  if (w.kernel_h > height || w.kernel_w > width) {
    return "kernel " + by(w.kernel_h, w.kernel_w) + " is larger than its padded input " + by(height, width);
  }
  return "";
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, std::string title, Shape input) {
  graph_.name = std::move(name);
  graph_.title = std::move(title);
  graph_.input = input;
  Layer layer{"input", LayerKind::input, {}, input, input, {}, {}, 0, 0};
  append(std::move(layer));
}

void GraphBuilder::fail(const std::string& layer, const std::string& wrong) const {
  throw InputError("model " + in_quotes(graph_.name) + ", layer " + in_quotes(layer) + ": " + wrong);
}

Layer GraphBuilder::start(const std::string& name, LayerKind kind, const std::vector<int>& from) const {
  Layer layer{name, kind, from, {}, {}, {}, {}, 0, 0};
  const int built = static_cast<int>(graph_.layers.size());
  if (from.empty()) fail(name, "no input");
  for (int index : from) {
    if (index < 0 || index >= built) {
      fail(name, "input " + std::to_string(index) + " is no earlier layer; allowed: 0 to " + std::to_string(built - 1));
    }
    layer.input_elements += graph_.layers[index].out.elements();
  }
  layer.in = graph_.layers[from.front()].out;
  return layer;
}

int GraphBuilder::append(Layer layer) {
  const Shape& out = layer.out;
  if (layer.name.empty()) fail(layer.name, "empty name");
  if (std::min({out.channels, out.height, out.width}) < 1) fail(layer.name, "output " + text(out) + " is empty");
  const bool fits = std::max({out.channels, out.height, out.width}) <= kLargestAxis &&
                    product({out.channels, out.height, out.width}) <= kMostOutputs;
  if (!fits) fail(layer.name, "output " + text(out) + " is too large; allowed: 1e13 elements, 1e9 along an axis");
  macs_ += static_cast<double>(layer.macs);
  if (macs_ > kMostOfAll) fail(layer.name, "the model has more than 1e18 multiply-adds a sample");
  if (!names_.insert(layer.name).second) fail(layer.name, "the name is used twice");
  graph_.layers.edit().push_back(std::move(layer));
  return static_cast<int>(graph_.layers.size()) - 1;
}

int GraphBuilder::conv(const std::string& name, int from, int out_channels, Window window, bool bias) {
  Layer layer = start(name, LayerKind::conv, {from});
  const std::string problem = window_problem(window, layer.in);
  if (!problem.empty()) fail(name, problem);
  if (window.ceil) fail(name, "a convolution cannot round its output size up");
  if (out_channels < 1) fail(name, "out must be at least 1");
  if (layer.in.channels % window.groups != 0 || out_channels % window.groups != 0) {
    fail(name, std::to_string(layer.in.channels) + " input and " + std::to_string(out_channels) +
                   " output channels are not both divisible by " + std::to_string(window.groups) + " groups");
  }
  const Shape& in = layer.in;
  layer.window = window;
  layer.out = {out_channels,
               slide(in.height, window.pad_top, window.pad_bottom, window.kernel_h, window.stride_h, false),
               slide(in.width, window.pad_left, window.pad_right, window.kernel_w, window.stride_w, false)};
  const int group_channels = in.channels / window.groups;
  const double weights_estimate = product({out_channels, group_channels, window.kernel_h, window.kernel_w});
  if (weights_estimate > kMostParameters) fail(name, "more than 1e12 weights");
  if (weights_estimate * layer.out.height * layer.out.width > kMostMacs) fail(name, "more than 1e13 multiply-adds");
  const std::int64_t weights = std::int64_t{out_channels} * group_channels * window.kernel_h * window.kernel_w;
  layer.parameters.push_back({name + "/weight", ParameterRole::weight, weights});
  if (bias) layer.parameters.push_back({name + "/bias", ParameterRole::bias, out_channels});
  layer.macs = weights * layer.out.height * layer.out.width;
  return append(std::move(layer));
}

int GraphBuilder::fc(const std::string& name, int from, int out_features, bool bias) {
  Layer layer = start(name, LayerKind::fc, {from});
  if (out_features < 1) fail(name, "out must be at least 1");
  const std::int64_t features = layer.in.elements();
  if (static_cast<double>(features) * out_features > kMostParameters) fail(name, "more than 1e12 weights");
  layer.out = {out_features, 1, 1};
  layer.macs = features * out_features;
  layer.parameters.push_back({name + "/weight", ParameterRole::weight, layer.macs});
  if (bias) layer.parameters.push_back({name + "/bias", ParameterRole::bias, out_features});
  return append(std::move(layer));
}

int GraphBuilder::same_shape(const std::string& name, LayerKind kind, int from) {
  Layer layer = start(name, kind, {from});
  layer.out = layer.in;
  if (kind == LayerKind::batch_norm) {
    layer.parameters.push_back({name + "/gamma", ParameterRole::bn_gamma, layer.in.channels});
    layer.parameters.push_back({name + "/beta", ParameterRole::bn_beta, layer.in.channels});
  }
  return append(std::move(layer));
}

int GraphBuilder::batch_norm(const std::string& name, int from) {
  return same_shape(name, LayerKind::batch_norm, from);
}
int GraphBuilder::relu(const std::string& name, int from) {
  return same_shape(name, LayerKind::relu, from);
}
int GraphBuilder::lrn(const std::string& name, int from) {
  return same_shape(name, LayerKind::lrn, from);
}
int GraphBuilder::dropout(const std::string& name, int from) {
  return same_shape(name, LayerKind::dropout, from);
}
int GraphBuilder::softmax(const std::string& name, int from) {
  return same_shape(name, LayerKind::softmax, from);
}

int GraphBuilder::pool(const std::string& name, LayerKind kind, int from, const Window& window) {
  Layer layer = start(name, kind, {from});
  const Shape& in = layer.in;
  const std::string problem = window_problem(window, in);
  if (!problem.empty()) fail(name, problem);
  if (window.groups != 1) fail(name, "pooling has no groups");
  if (std::max(window.pad_top, window.pad_bottom) >= window.kernel_h ||
      std::max(window.pad_left, window.pad_right) >= window.kernel_w) {
    fail(name, "padding of a pooling must be smaller than its kernel " + by(window.kernel_h, window.kernel_w));
  }
  layer.window = window;
  layer.out = {in.channels,
               slide(in.height, window.pad_top, window.pad_bottom, window.kernel_h, window.stride_h, window.ceil),
               slide(in.width, window.pad_left, window.pad_right, window.kernel_w, window.stride_w, window.ceil)};
  return append(std::move(layer));
}

int GraphBuilder::max_pool(const std::string& name, int from, Window window) {
  return pool(name, LayerKind::max_pool, from, window);
}
int GraphBuilder::avg_pool(const std::string& name, int from, Window window) {
  return pool(name, LayerKind::avg_pool, from, window);
}

int GraphBuilder::global_avg_pool(const std::string& name, int from) {
  Layer layer = start(name, LayerKind::global_avg_pool, {from});
  layer.out = {layer.in.channels, 1, 1};
  return append(std::move(layer));
}

int GraphBuilder::subsample(const std::string& name, int from, int out_channels, int stride) {
  Layer layer = start(name, LayerKind::subsample, {from});
  if (stride < 1) fail(name, "stride must be at least 1");
  if (out_channels < layer.in.channels) {
    fail(name, "out " + std::to_string(out_channels) + " drops some of the " + std::to_string(layer.in.channels) +
                   " input channels");
  }
  layer.window.stride_h = layer.window.stride_w = stride;
  layer.out = {out_channels, (layer.in.height - 1) / stride + 1, (layer.in.width - 1) / stride + 1};
  layer.input_elements = std::int64_t{layer.in.channels} * layer.out.height * layer.out.width;
  return append(std::move(layer));
}

int GraphBuilder::add(const std::string& name, const std::vector<int>& from) {
  Layer layer = start(name, LayerKind::add, from);
  if (from.size() < 2) fail(name, "an addition needs at least two inputs");
  for (int index : from) {
    const Layer& input = graph_.layers[index];
    if (input.out == layer.in) continue;
    fail(name, "cannot add " + in_quotes(graph_.layers[from.front()].name) + " (" + text(layer.in) + ") and " +
                   in_quotes(input.name) + " (" + text(input.out) + ")");
  }
  layer.out = layer.in;
  return append(std::move(layer));
}

int GraphBuilder::concat(const std::string& name, const std::vector<int>& from) {
  Layer layer = start(name, LayerKind::concat, from);
  if (from.size() < 2) fail(name, "a concatenation needs at least two inputs");
  std::int64_t channels = 0;
  for (int index : from) {
    const Layer& input = graph_.layers[index];
    channels += input.out.channels;
    if (input.out.height == layer.in.height && input.out.width == layer.in.width) continue;
    fail(name, "cannot join " + in_quotes(graph_.layers[from.front()].name) + " (" + text(layer.in) + ") and " +
                   in_quotes(input.name) + " (" + text(input.out) + ") along channels");
  }
  if (channels > kLargestAxis) fail(name, "too many channels");
  layer.out = {static_cast<int>(channels), layer.in.height, layer.in.width};
  return append(std::move(layer));
}

int GraphBuilder::opaque(const std::string& name, const std::vector<int>& from, Shape out,
                         const std::vector<std::int64_t>& parameters, std::int64_t macs) {
  Layer layer = start(name, LayerKind::opaque, from);
  double weights = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i] < 1) fail(name, "a parameter tensor without elements");
    weights += static_cast<double>(parameters[i]);
    layer.parameters.push_back({name + "/" + std::to_string(i + 1), ParameterRole::weight, parameters[i]});
  }
  if (weights > kMostParameters) fail(name, "more than 1e12 weights");
  if (macs < 0) fail(name, "multiply-adds below 0");
  if (static_cast<double>(macs) > kMostMacs) fail(name, "more than 1e13 multiply-adds");
  layer.out = out;
  layer.macs = macs;
  return append(std::move(layer));
}

Graph GraphBuilder::finish() {
  if (graph_.layers.size() < 2) throw InputError("model " + in_quotes(graph_.name) + ": no layers");
  std::vector<bool> read(graph_.layers.size(), false);
  for (const Layer& layer : graph_.layers) {
    for (int index : layer.inputs) read[index] = true;
  }
  read.back() = true;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const Layer& layer = graph_.layers[i];
    if (!read[i] && layer.kind != LayerKind::softmax) fail(layer.name, "no layer reads its output");
  }
  graph_.arenas = std::make_shared<ArenaSizes>();
  return std::move(graph_);
}

}  // namespace lockstep::model
