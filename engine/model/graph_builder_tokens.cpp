// Builds layers of sequences, whose inputs and outputs are {features, tokens, 1}.
#include <utility>

#include "engine/base/text.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::model {
namespace {

constexpr double kMostElements = 1e12;  // weights of a layer; elements that attention keeps per sample
constexpr int kMostFeatures = 1'000'000'000;

std::int64_t tokens_of(const Shape& shape) {
  return std::int64_t{shape.height} * shape.width;
}

std::string differ(const char* what, int has, const char* other, int wants) {
  return std::string(what) + " " + std::to_string(has) + ", " + other + " " + std::to_string(wants);
}

}  // namespace

Layer GraphBuilder::matrix(const std::string& name, LayerKind kind, int from, int out_features, bool bias) const {
  Layer layer = start(name, kind, {from});
  if (out_features < 1) fail(name, "out must be at least 1");
  const double weights = static_cast<double>(layer.in.channels) * out_features;
  if (weights > kMostElements) fail(name, "more than 1e12 weights");
  const int tokens = static_cast<int>(tokens_of(layer.in));
  if (weights * tokens > 1e18) fail(name, "more than 1e18 multiply-adds");
  layer.out = {out_features, tokens, 1};
  layer.macs = std::int64_t{layer.in.channels} * out_features * tokens;
  layer.parameters.push_back({name + "/weight", ParameterRole::weight, std::int64_t{layer.in.channels} * out_features});
  if (bias) layer.parameters.push_back({name + "/bias", ParameterRole::bias, out_features});
  return layer;
}

int GraphBuilder::linear(const std::string& name, int from, int out_features, bool bias) {
  return append(matrix(name, LayerKind::linear, from, out_features, bias));
}

int GraphBuilder::tied_linear(const std::string& name, int from, int embedding, bool bias) {
  const Layer& table = graph_.layers.at(static_cast<std::size_t>(embedding));
  if (table.kind != LayerKind::embedding) fail(name, in_quotes(table.name) + " is no embedding");
  const Shape& in = graph_.layers.at(static_cast<std::size_t>(from)).out;
  if (in.channels != table.out.channels)
    fail(name, differ("input features", in.channels, "width of the table", table.out.channels));
  const int vocabulary = static_cast<int>(table.parameters.front().elements / table.out.channels);
  Layer layer = matrix(name, LayerKind::linear, from, vocabulary, bias);
  layer.parameters.erase(layer.parameters.begin());  // the embedding owns the weight
  layer.tied_to = embedding;
  return append(std::move(layer));
}

int GraphBuilder::embedding(const std::string& name, int from, int vocabulary, int width) {
  Layer layer = start(name, LayerKind::embedding, {from});
  if (vocabulary < 1 || width < 1) fail(name, "vocabulary and width must be at least 1");
  if (layer.in.channels != 1) fail(name, "its input has features; allowed: tokens, one number each");
  if (static_cast<double>(vocabulary) * width > kMostElements) fail(name, "more than 1e12 weights");
  layer.out = {width, layer.in.height, layer.in.width};
  layer.parameters.push_back({name + "/weight", ParameterRole::weight, std::int64_t{vocabulary} * width});
  return append(std::move(layer));
}

int GraphBuilder::positions(const std::string& name, int from, int count, int extra_tokens) {
  Layer layer = start(name, LayerKind::positions, {from});
  if (count < 1) fail(name, "count must be at least 1");
  if (extra_tokens < 0 || extra_tokens > 1000) fail(name, "extra tokens outside 0 to 1000");
  const int width = layer.in.channels;
  if (static_cast<double>(count) * width > kMostElements) fail(name, "more than 1e12 weights");
  layer.out = {width, static_cast<int>(tokens_of(layer.in)) + extra_tokens, 1};
  layer.parameters.push_back({name + "/weight", ParameterRole::weight, std::int64_t{count} * width});
  if (extra_tokens > 0)
    layer.parameters.push_back({name + "/tokens", ParameterRole::weight, std::int64_t{extra_tokens} * width});
  return append(std::move(layer));
}

int GraphBuilder::norm(const std::string& name, LayerKind kind, int from, int width) {
  Layer layer = start(name, kind, {from});
  const int features = width > 0 ? width : layer.in.channels;
  if (layer.in.channels % features != 0)
    fail(name, std::to_string(layer.in.channels) + " features are no groups of " + std::to_string(features));
  layer.out = layer.in;
  layer.parameters.push_back({name + "/gamma", ParameterRole::bn_gamma, features});
  if (kind == LayerKind::layer_norm) layer.parameters.push_back({name + "/beta", ParameterRole::bn_beta, features});
  return append(std::move(layer));
}

int GraphBuilder::rotary(const std::string& name, int from, int features) {
  Layer layer = start(name, LayerKind::rotary, {from});
  if (features < 0 || features > layer.in.channels)
    fail(name, differ("turned features", features, "of", layer.in.channels));
  layer.out = layer.in;
  if (features > 0) layer.input_elements = features * tokens_of(layer.in);
  return append(std::move(layer));
}

int GraphBuilder::activation(const std::string& name, LayerKind kind, int from) {
  return same_shape(name, kind, from);
}

int GraphBuilder::multiply(const std::string& name, const std::vector<int>& from) {
  Layer layer = start(name, LayerKind::multiply, from);
  if (from.size() != 2) fail(name, "a product has two inputs");
  const Shape& other = graph_.layers[static_cast<std::size_t>(from[1])].out;
  // The second input may have one weight per token, or one per feature.
  const bool is_broadcast = other.channels == 1 && tokens_of(other) == tokens_of(layer.in);
  if (!(other == layer.in) && !is_broadcast)
    fail(name, differ("inputs of features", layer.in.channels, "and", other.channels));
  layer.out = layer.in;
  return append(std::move(layer));
}

int GraphBuilder::take(const std::string& name, int from, int tokens) {
  Layer layer = start(name, LayerKind::take, {from});
  if (tokens < 1 || tokens > tokens_of(layer.in))
    fail(name, differ("takes", tokens, "of", static_cast<int>(tokens_of(layer.in))));
  layer.out = {layer.in.channels, tokens, 1};
  layer.input_elements = layer.out.elements();
  return append(std::move(layer));
}

int GraphBuilder::attention(const std::string& name, const std::vector<int>& from, AttentionShape a) {
  Layer layer = start(name, LayerKind::attention, from);
  if (from.size() != 3) fail(name, "attention reads queries, keys and values");
  const Shape& keys = graph_.layers[static_cast<std::size_t>(from[1])].out;
  const Shape& values = graph_.layers[static_cast<std::size_t>(from[2])].out;
  if (a.heads < 1 || a.kv_heads < 1 || a.head_dim < 1 || a.value_dim < 1) fail(name, "heads without features");
  if (a.heads % a.kv_heads != 0)
    fail(name, std::to_string(a.heads) + " heads cannot share " + std::to_string(a.kv_heads) + " of keys and values");
  if (a.shared_dim < 0 || a.shared_dim >= a.head_dim) fail(name, "keys share all of their features");
  const std::int64_t queries = tokens_of(layer.in);
  const std::int64_t key_width = std::int64_t{a.kv_heads} * (a.head_dim - a.shared_dim) + a.shared_dim;
  if (layer.in.channels != std::int64_t{a.heads} * a.head_dim)
    fail(name, differ("features of queries", layer.in.channels, "heads of", a.head_dim));
  if (keys.channels != key_width) fail(name, differ("features of keys", keys.channels, "heads of", a.head_dim));
  if (values.channels != std::int64_t{a.kv_heads} * a.value_dim)
    fail(name, differ("features of values", values.channels, "heads of", a.value_dim));
  a.keys = static_cast<int>(tokens_of(keys));
  if (tokens_of(values) != a.keys) fail(name, "not as many values as keys");
  if (a.causal && queries > a.keys) fail(name, "more queries than keys in causal attention");
  const double scores_estimate = static_cast<double>(a.heads) * static_cast<double>(queries) * a.keys;
  if (scores_estimate * (a.head_dim + a.value_dim) > 1e18) fail(name, "more than 1e18 multiply-adds");
  if (!a.fused && scores_estimate > kMostElements) fail(name, "more than 1e12 scores; allowed: fused attention");
  const std::int64_t scores = a.heads * queries * a.keys;
  layer.out = {a.heads * a.value_dim, layer.in.height, layer.in.width};
  layer.macs = a.heads * a.pairs_without_causal_mask(static_cast<int>(queries)) * (a.head_dim + a.value_dim);
  if (a.chunked && (a.window == 0 || !a.causal)) fail(name, "chunks without a causal window");
  if (a.sinks) layer.parameters.push_back({name + "/sinks", ParameterRole::weight, a.heads});
  if (a.buckets > 0)
    layer.parameters.push_back({name + "/distances", ParameterRole::weight, std::int64_t{a.buckets} * a.heads});
  // Unfused attention keeps the weights and, with dropout, a copy. Its backward pass also needs the gradients of
  // weights and scores. Fused attention keeps a sum of exponentials in single precision per query and head.
  layer.kept_elements = a.fused ? 2 * a.heads * queries : scores * (a.dropout ? 2 : 1);
  layer.scratch_elements = a.fused ? 0 : 2 * scores;
  layer.attention = a;
  return append(std::move(layer));
}

int GraphBuilder::router(const std::string& name, int from, int count, int active, bool bias) {
  Layer layer = matrix(name, LayerKind::router, from, count, bias);
  if (active < 1 || active > count) fail(name, differ("active experts", active, "of", count));
  layer.experts.count = count;
  layer.experts.active = active;
  return append(std::move(layer));
}

int GraphBuilder::experts(const std::string& name, const std::vector<int>& from, int inner, bool gated, bool bias) {
  Layer layer = start(name, LayerKind::experts, from);
  if (from.size() != 2) fail(name, "experts read tokens and a router");
  const Layer& router = graph_.layers[static_cast<std::size_t>(from[1])];
  if (router.kind != LayerKind::router) fail(name, in_quotes(router.name) + " is no router");
  if (inner < 1 || inner > kMostFeatures) fail(name, "inner must be at least 1");
  const int matrices = gated ? 3 : 2;
  layer.experts = {router.experts.count, router.experts.active, inner, gated, bias};
  const ExpertsShape& e = layer.experts;
  const double weights = static_cast<double>(e.count) * layer.in.channels * inner;
  const std::int64_t work = tokens_of(layer.in) * e.active;  // pairs of a token and an expert
  if (weights * matrices > kMostElements) fail(name, "more than 1e12 weights");
  if (static_cast<double>(work) * layer.in.channels * inner * matrices > 1e18)
    fail(name, "more than 1e18 multiply-adds");
  const std::int64_t one = std::int64_t{layer.in.channels} * inner;
  for (const char* part : {"gate", "up", "down"})
    if (gated || std::string(part) != "gate")
      layer.parameters.push_back({name + "/" + part, ParameterRole::weight, one * e.count});
  if (bias) {
    const std::int64_t of_inner = std::int64_t{gated ? 2 : 1} * inner * e.count;
    layer.parameters.push_back({name + "/up/bias", ParameterRole::bias, of_inner});
    layer.parameters.push_back({name + "/down/bias", ParameterRole::bias, std::int64_t{layer.in.channels} * e.count});
  }
  layer.out = layer.in;
  layer.macs = work * one * matrices;
  // Kept: the tokens sorted by expert, their outputs, and input and output of the inner activation. With a gate, also
  // the other factor and the product.
  layer.kept_elements = work * (2 * std::int64_t{layer.in.channels} + (gated ? 4 : 2) * std::int64_t{inner});
  layer.scratch_elements = work * (layer.in.channels + std::int64_t{inner});
  return append(std::move(layer));
}

}  // namespace lockstep::model
