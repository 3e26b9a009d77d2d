// Reads and writes a user's own model:
//
//   {"schema": "lockstep/model/1", "name": "mine", "title": "shown in tables (default: the name)",
//    "input": [3, 32, 32],
//    "layers": [{"name": "conv1", "kind": "conv", "out": 64, "kernel": 3, "pad": 1, "bias": false},
//               {"name": "conv1/bn", "kind": "batch_norm"},
//               {"name": "sum", "kind": "add", "from": ["conv1/bn", "input"]}, ...]}
//
// Layers are in topological order. "from" names the layer or layers that are read. Without it, the previous layer is
// read ("input" for the first one). Keys of each kind:
//
//   conv                out, kernel; stride (1), pad (0), groups (1), bias (true)
//   fc                  out; bias (true)
//   max_pool, avg_pool  kernel, stride; pad (0), ceil (false: output size rounded down)
//   add, concat         from (an array)
//   subsample           out, stride
//   opaque              out ([channels, height, width]); from (text or an array), parameters ([]), macs (0)
//   batch_norm, relu, global_avg_pool, lrn, dropout, softmax
//
// Kinds for sequences, in files with "tokens": T instead of "input" (token_layers_json.cpp):
//
//   embedding           vocabulary, out
//   positions           count; extra (0)
//   linear              out, or tied (an embedding's name); bias (true)
//   layer_norm, rms_norm  width (all features)
//   rotary              features (all)
//   attention           from (queries, keys, values), heads; kv_heads (heads), head_dim, value_dim, shared_dim (0),
//                       causal (false), window (0: none), fused (true), dropout (false), buckets (0)
//   multiply            from (an array of two)
//   take                tokens
//   router              experts, active; bias (false)
//   experts             from (tokens, router), inner; gated (true)
//   gelu, silu, tanh
//
// kernel and stride are a number or [height, width]; pad is a number, [height, width], [top, bottom, left, right], or
// "same": an output of ceil(input / stride), with the odd pixel of padding at the bottom and right.
#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "engine/base/text.hpp"
#include "engine/model/graph.hpp"
#include "engine/model/token_layers_json.hpp"

namespace lockstep::model {
namespace {

constexpr const char* kSchema = "lockstep/model/1";
constexpr int kMostChannels = 1'000'000;
constexpr int kMostPixels = 100'000;  // height or width of the input
constexpr int kMostWindow = 1024;
constexpr int kLongestAxis = 1'000'000'000;
constexpr std::int64_t kMostCount = 10'000'000'000'000;  // GraphBuilder has the limits of each
constexpr std::size_t kMostLayers = 100'000;

struct Kind {
  LayerKind kind;
  std::vector<std::string> keys;  ///< in addition to name, kind and from
};

std::vector<Kind> kinds_of_images() {
  return {
      {LayerKind::conv, {"out", "kernel", "stride", "pad", "groups", "bias"}},
      {LayerKind::fc, {"out", "bias"}},
      {LayerKind::batch_norm, {}},
      {LayerKind::relu, {}},
      {LayerKind::max_pool, {"kernel", "stride", "pad", "ceil"}},
      {LayerKind::avg_pool, {"kernel", "stride", "pad", "ceil"}},
      {LayerKind::global_avg_pool, {}},
      {LayerKind::lrn, {}},
      {LayerKind::dropout, {}},
      {LayerKind::add, {}},
      {LayerKind::concat, {}},
      {LayerKind::softmax, {}},
      {LayerKind::subsample, {"out", "stride"}},
      {LayerKind::opaque, {"out", "parameters", "macs"}},
  };
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> joined = kinds_of_images();
    for (const LayerKind kind :
         {LayerKind::embedding, LayerKind::positions, LayerKind::linear, LayerKind::layer_norm, LayerKind::rms_norm,
          LayerKind::rotary, LayerKind::attention, LayerKind::gelu, LayerKind::silu, LayerKind::tanh,
          LayerKind::multiply, LayerKind::take, LayerKind::router, LayerKind::experts, LayerKind::recurrence})
      joined.push_back({kind, token_layer_keys(kind)});
    return joined;
  }();
  return all;
}

/// The layer's kind; refuses keys that this kind does not have.
LayerKind read_kind(const JsonNode& layer) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(to_string(kind.kind));
  const std::string chosen = layer.at("kind").choice(names);
  const std::size_t index = std::find(names.begin(), names.end(), chosen) - names.begin();
  const Kind& kind = kinds()[index];
  std::vector<std::string> known{"name", "kind", "from"};
  known.insert(known.end(), kind.keys.begin(), kind.keys.end());
  layer.keys(known);
  return kind.kind;
}

/// Reads a whole number from `low` to `high`.
int whole(const JsonNode& node, int low, int high) {
  return static_cast<int>(node.integer(low, high));
}

/// Reads an array of whole numbers, or a single number as an array of one.
std::vector<int> numbers(const JsonNode& node, int low, int high, const std::vector<std::size_t>& sizes,
                         const std::string& allowed) {
  if (node.is_number()) return {whole(node, low, high)};
  if (!node.is_array()) node.fail("expected a number or an array", allowed);
  std::vector<int> values;
  for (const JsonNode& item : node.items()) values.push_back(whole(item, low, high));
  if (std::find(sizes.begin(), sizes.end(), values.size()) == sizes.end()) {
    node.fail("array of " + std::to_string(values.size()), allowed);
  }
  return values;
}

std::vector<int> height_and_width(const JsonNode& node) {
  std::vector<int> values = numbers(node, 1, kMostWindow, {2}, "allowed: a number, [height, width]");
  if (values.size() == 1) values.push_back(values[0]);
  return values;
}

/// Computes the padding of one axis for an output of ceil(size / stride).
void pad_same(int size, int kernel, int stride, int& before, int& after) {
  const int outputs = (size - 1) / stride + 1;
  const int total = std::max(0, (outputs - 1) * stride + kernel - size);
  before = total / 2;
  after = total - before;
}

void read_pad(const JsonNode& node, const Shape& in, Window& w) {
  const std::string allowed = "allowed: a number, [height, width], [top, bottom, left, right], \"same\"";
  if (node.is_string()) {
    if (node.text() != "same") node.fail(in_quotes(node.text()) + " is unknown", allowed);
    pad_same(in.height, w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom);
    pad_same(in.width, w.kernel_w, w.stride_w, w.pad_left, w.pad_right);
    return;
  }
  std::vector<int> pad = numbers(node, 0, kMostWindow, {2, 4}, allowed);
  if (pad.size() == 1) pad = {pad[0], pad[0], pad[0], pad[0]};
  if (pad.size() == 2) pad = {pad[0], pad[0], pad[1], pad[1]};
  w.pad_top = pad[0];
  w.pad_bottom = pad[1];
  w.pad_left = pad[2];
  w.pad_right = pad[3];
}

Window read_window(const JsonNode& layer, LayerKind kind, const Shape& in) {
  Window window;
  const std::vector<int> kernel = height_and_width(layer.at("kernel"));
  window.kernel_h = kernel[0];
  window.kernel_w = kernel[1];
  // Frameworks disagree on a pooling's default stride (1, or the kernel), so poolings must give theirs.
  if (kind != LayerKind::conv || layer.has("stride")) {
    const std::vector<int> stride = height_and_width(layer.at("stride"));
    window.stride_h = stride[0];
    window.stride_w = stride[1];
  }
  if (const auto pad = layer.find("pad")) read_pad(*pad, in, window);
  if (const auto ceil = layer.find("ceil")) window.ceil = ceil->boolean();
  if (const auto groups = layer.find("groups")) window.groups = whole(*groups, 1, kMostChannels);
  return window;
}

Shape read_shape(const JsonNode& node, int most_channels = kMostChannels, int most_pixels = kMostPixels) {
  const std::vector<JsonNode> sizes = node.items();
  if (sizes.size() != 3) {
    node.fail("array of " + std::to_string(sizes.size()), "allowed: [channels, height, width]");
  }
  return {whole(sizes[0], 1, most_channels), whole(sizes[1], 1, most_pixels), whole(sizes[2], 1, most_pixels)};
}

/// Holds the content of one layer's keys.
struct Sizes {
  int out = 0;
  bool bias = true;
  Window window;
  Shape shape;                           ///< opaque: of its output
  std::vector<std::int64_t> parameters;  ///< opaque: elements of each tensor
  std::int64_t macs = 0;
};

void read_opaque(const JsonNode& node, Sizes& sizes) {
  sizes.shape = read_shape(node.at("out"), kLongestAxis, kLongestAxis);
  if (const auto parameters = node.find("parameters"))
    for (const JsonNode& item : parameters->items()) sizes.parameters.push_back(item.integer(1, kMostCount));
  if (const auto macs = node.find("macs")) sizes.macs = macs->integer(0, kMostCount);
}

Sizes read_sizes(const JsonNode& node, LayerKind kind, const Shape& in) {
  Sizes sizes;
  switch (kind) {
    case LayerKind::conv:
    case LayerKind::fc:
      sizes.out = whole(node.at("out"), 1, kMostChannels);
      if (const auto bias = node.find("bias")) sizes.bias = bias->boolean();
      if (kind == LayerKind::conv) sizes.window = read_window(node, kind, in);
      break;
    case LayerKind::subsample:
      sizes.out = whole(node.at("out"), 1, kMostChannels);
      sizes.window.stride_h = sizes.window.stride_w = whole(node.at("stride"), 1, kMostWindow);
      break;
    case LayerKind::max_pool:
    case LayerKind::avg_pool:
      sizes.window = read_window(node, kind, in);
      break;
    case LayerKind::opaque:
      read_opaque(node, sizes);
      break;
    default:
      break;
  }
  return sizes;
}

int append(GraphBuilder& net, LayerKind kind, const std::string& name, const std::vector<int>& from,
           const Sizes& sizes) {
  switch (kind) {
    case LayerKind::conv:
      return net.conv(name, from[0], sizes.out, sizes.window, sizes.bias);
    case LayerKind::fc:
      return net.fc(name, from[0], sizes.out, sizes.bias);
    case LayerKind::batch_norm:
      return net.batch_norm(name, from[0]);
    case LayerKind::relu:
      return net.relu(name, from[0]);
    case LayerKind::max_pool:
      return net.max_pool(name, from[0], sizes.window);
    case LayerKind::avg_pool:
      return net.avg_pool(name, from[0], sizes.window);
    case LayerKind::global_avg_pool:
      return net.global_avg_pool(name, from[0]);
    case LayerKind::lrn:
      return net.lrn(name, from[0]);
    case LayerKind::dropout:
      return net.dropout(name, from[0]);
    case LayerKind::add:
      return net.add(name, from);
    case LayerKind::concat:
      return net.concat(name, from);
    case LayerKind::softmax:
      return net.softmax(name, from[0]);
    case LayerKind::subsample:
      return net.subsample(name, from[0], sizes.out, sizes.window.stride_h);
    case LayerKind::opaque:
      return net.opaque(name, from, sizes.shape, sizes.parameters, sizes.macs);
    default:
      break;
  }
  throw std::logic_error("no layer of images: " + to_string(kind));
}

class Reader {
 public:
  Reader(const std::string& name, const std::string& title, Shape input, int tokens) : net_(name, title, input) {
    indices_["input"] = 0;
    net_.count_tokens(tokens);
  }

  void read(const JsonNode& node) {
    const std::string name = node.at("name").text();
    const LayerKind kind = read_kind(node);
    const std::vector<int> from = sources(node, kind);
    if (from.empty() && is_of_tokens(kind)) node.at("from").fail("empty list", "allowed: earlier layers");
    const Shape in = from.empty() ? Shape{} : net_.shape(from[0]);
    const Sizes sizes = read_sizes(node, kind, in);
    TokenLayer of_tokens;
    if (is_of_tokens(kind))
      of_tokens = read_token_layer(kind, name, from, node, in, [&](const JsonNode& n) { return source(n); });
    try {
      last_ = of_tokens ? of_tokens(net_) : append(net_, kind, name, from, sizes);
    } catch (const InputError& error) {
      node.fail(error.what());  // fail() adds the file and the pointer
    }
    indices_[name] = last_;
  }

  Graph finish(const JsonNode& layers) {
    try {
      return net_.finish();
    } catch (const InputError& error) {
      layers.fail(error.what());
    }
  }

 private:
  int source(const JsonNode& node) const {
    const auto found = indices_.find(node.text());
    if (found == indices_.end()) node.fail("no earlier layer is called " + in_quotes(node.text()));
    return found->second;
  }

  std::vector<int> sources(const JsonNode& node, LayerKind kind) const {
    const auto given = node.find("from");
    const bool is_list = given && given->is_array() && kind == LayerKind::opaque;
    if (!reads_several(kind) && !is_list) return {given ? source(*given) : last_};
    std::vector<int> from;
    for (const JsonNode& item : node.at("from").items()) from.push_back(source(item));
    return from;
  }

  GraphBuilder net_;
  std::unordered_map<std::string, int> indices_;
  int last_ = 0;
};

Json pair_json(int height, int width) {
  return height == width ? Json(height) : Json::array({height, width});
}

Json pad_json(const Window& w) {
  if (w.pad_top == w.pad_bottom && w.pad_left == w.pad_right) return pair_json(w.pad_top, w.pad_left);
  return Json::array({w.pad_top, w.pad_bottom, w.pad_left, w.pad_right});
}

void window_json(const Layer& layer, Json& json) {
  const Window& w = layer.window;
  const Window plain;
  json["kernel"] = pair_json(w.kernel_h, w.kernel_w);
  const bool default_stride = w.stride_h == plain.stride_h && w.stride_w == plain.stride_w;
  if (layer.kind != LayerKind::conv || !default_stride) json["stride"] = pair_json(w.stride_h, w.stride_w);
  const Json pad = pad_json(w);
  if (pad != Json(0)) json["pad"] = pad;
  if (w.ceil) json["ceil"] = true;
  if (w.groups != plain.groups) json["groups"] = w.groups;
}

void opaque_json(const Layer& layer, Json& json) {
  json["out"] = {layer.out.channels, layer.out.height, layer.out.width};
  for (const Parameter& parameter : layer.parameters) json["parameters"].push_back(parameter.elements);
  if (layer.macs > 0) json["macs"] = layer.macs;
}

Json layer_json(const Graph& graph, std::size_t index) {
  const Layer& layer = graph.layers[index];
  Json json{{"name", layer.name}, {"kind", to_string(layer.kind)}};
  if (reads_several(layer.kind) || layer.inputs.size() > 1) {
    for (int input : layer.inputs) json["from"].push_back(graph.layers[input].name);
  } else if (layer.inputs.at(0) != static_cast<int>(index) - 1) {
    json["from"] = graph.layers[layer.inputs[0]].name;
  }
  const bool weighted = layer.kind == LayerKind::conv || layer.kind == LayerKind::fc;
  if (weighted || layer.kind == LayerKind::subsample) json["out"] = layer.out.channels;
  if (layer.kind == LayerKind::subsample) json["stride"] = layer.window.stride_h;
  const bool windowed = layer.kind == LayerKind::max_pool || layer.kind == LayerKind::avg_pool;
  if (windowed || layer.kind == LayerKind::conv) window_json(layer, json);
  if (weighted && layer.parameters.size() == 1) json["bias"] = false;
  if (layer.kind == LayerKind::opaque) opaque_json(layer, json);
  write_token_layer(graph, layer, json);
  return json;
}

// The builder cannot name the file: if it refuses a large input, the error is reported at that key of the file.
Reader reader_of(const JsonNode& node, const std::string& name, const std::string& title, Shape input, int tokens) {
  try {
    return Reader(name, title, input, tokens);
  } catch (const InputError& error) {
    node.at(tokens > 0 ? "tokens" : "input").fail(error.what());
  }
}

// Kinds for sequences have this input. Traced networks give another one in addition to "tokens".
Shape input_of_tokens(int tokens) {
  return {1, tokens, 1};
}

}  // namespace

Graph graph_from_json(const JsonNode& node) {
  node.keys({"schema", "name", "title", "input", "tokens", "layers"});
  node.at("schema").choice({kSchema});
  const std::string name = node.at("name").text();
  const auto title = node.find("title");
  const int tokens = node.has("tokens") ? whole(node.at("tokens"), 1, kLongestAxis) : 0;
  const Shape input = node.has("input") || tokens == 0 ? read_shape(node.at("input")) : input_of_tokens(tokens);
  if (tokens > 0 && input.width != 1)
    node.at("tokens").fail("the input is an image", "allowed: one of input and tokens");
  Reader reader = reader_of(node, name, title ? title->text() : name, input, tokens);
  const JsonNode layers_node = node.at("layers");
  const std::vector<JsonNode> layers = layers_node.items();
  if (layers.empty() || layers.size() > kMostLayers) {
    layers_node.fail("array of " + std::to_string(layers.size()),
                     "allowed: 1 to " + std::to_string(kMostLayers) + " layers");
  }
  for (const JsonNode& layer : layers) reader.read(layer);
  return reader.finish(layers_node);
}

Json to_json(const Graph& graph) {
  Json json{{"schema", kSchema}, {"name", graph.name}};
  if (graph.title != graph.name) json["title"] = graph.title;
  if (graph.tokens > 0) json["tokens"] = graph.tokens;
  if (graph.tokens == 0 || !(graph.input == input_of_tokens(graph.tokens)))
    json["input"] = {graph.input.channels, graph.input.height, graph.input.width};
  json["layers"] = Json::array();
  for (std::size_t i = 1; i < graph.layers.size(); ++i) json["layers"].push_back(layer_json(graph, i));
  return json;
}

}  // namespace lockstep::model
