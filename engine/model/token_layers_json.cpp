#include "engine/model/token_layers_json.hpp"

#include <stdexcept>

namespace lockstep::model {
namespace {

constexpr int kMost = 1'000'000'000;

int whole(const JsonNode& node, const char* key) {
  return static_cast<int>(node.at(key).integer(1, kMost));
}

int whole_or(const JsonNode& node, const char* key, int otherwise) {
  const auto found = node.find(key);
  return found ? static_cast<int>(found->integer(0, kMost)) : otherwise;
}

bool flag_or(const JsonNode& node, const char* key, bool otherwise) {
  const auto found = node.find(key);
  return found ? found->boolean() : otherwise;
}

AttentionShape read_attention(const JsonNode& node, const Shape& queries) {
  AttentionShape a;
  a.heads = whole(node, "heads");
  a.kv_heads = whole_or(node, "kv_heads", a.heads);
  if (!node.has("head_dim") && queries.channels % a.heads != 0)
    node.at("heads").fail(std::to_string(queries.channels) + " features of queries are no " + std::to_string(a.heads) +
                          " heads");
  a.head_dim = whole_or(node, "head_dim", queries.channels / a.heads);
  a.value_dim = whole_or(node, "value_dim", a.head_dim);
  a.shared_dim = whole_or(node, "shared_dim", 0);
  a.causal = flag_or(node, "causal", false);
  a.window = whole_or(node, "window", 0);
  a.fused = flag_or(node, "fused", true);
  a.dropout = flag_or(node, "dropout", false);
  a.chunked = flag_or(node, "chunked", false);
  a.sinks = flag_or(node, "sinks", false);
  a.buckets = whole_or(node, "buckets", 0);
  return a;
}

void write_attention(const Layer& layer, Json& json) {
  const AttentionShape& a = layer.attention;
  json["heads"] = a.heads;
  if (a.kv_heads != a.heads) json["kv_heads"] = a.kv_heads;
  if (a.head_dim != layer.in.channels / a.heads) json["head_dim"] = a.head_dim;
  if (a.value_dim != a.head_dim) json["value_dim"] = a.value_dim;
  if (a.shared_dim > 0) json["shared_dim"] = a.shared_dim;
  if (a.causal) json["causal"] = true;
  if (a.window > 0) json["window"] = a.window;
  if (!a.fused) json["fused"] = false;
  if (a.dropout) json["dropout"] = true;
  if (a.chunked) json["chunked"] = true;
  if (a.sinks) json["sinks"] = true;
  if (a.buckets > 0) json["buckets"] = a.buckets;
}

RecurrenceShape read_recurrence(const JsonNode& node) {
  RecurrenceShape r;
  r.rule = *find_choice<RecurrenceRule>(node.at("rule").choice(choice_names<RecurrenceRule>()));
  const RecurrenceShape defaults;
  r.heads = whole(node, "heads");
  r.head_dim = whole_or(node, "head_dim", defaults.head_dim);
  r.state = whole(node, "state");
  r.groups = whole_or(node, "groups", defaults.groups);
  r.taps = whole_or(node, "taps", defaults.taps);
  r.taps_bias = flag_or(node, "taps_bias", defaults.taps_bias);
  r.chunk = whole_or(node, "chunk", defaults.chunk);
  r.step_rank = whole_or(node, "step_rank", defaults.step_rank);
  r.inner_norms = flag_or(node, "inner_norms", defaults.inner_norms);
  return r;
}

void write_recurrence(const RecurrenceShape& r, Json& json) {
  const RecurrenceShape defaults;
  json["rule"] = name_of(r.rule);
  json["heads"] = r.heads;
  if (r.head_dim != defaults.head_dim) json["head_dim"] = r.head_dim;
  json["state"] = r.state;
  if (r.groups != defaults.groups) json["groups"] = r.groups;
  if (r.taps != defaults.taps) json["taps"] = r.taps;
  if (r.taps_bias) json["taps_bias"] = true;
  if (r.chunk != defaults.chunk) json["chunk"] = r.chunk;
  if (r.step_rank != defaults.step_rank) json["step_rank"] = r.step_rank;
  if (r.inner_norms) json["inner_norms"] = true;
}

TokenLayer read_linear(const std::string& name, int from, const JsonNode& node,
                       const std::function<int(const JsonNode&)>& layer_named) {
  const bool bias = flag_or(node, "bias", true);
  if (!node.has("tied"))
    return [=, out = whole(node, "out")](GraphBuilder& net) { return net.linear(name, from, out, bias); };
  if (node.has("out")) node.at("out").fail("the table says how many", "allowed: one of out and tied");
  return
      [=, table = layer_named(node.at("tied"))](GraphBuilder& net) { return net.tied_linear(name, from, table, bias); };
}

bool has_bias(const Layer& layer) {
  return !layer.parameters.empty() && layer.parameters.back().role == ParameterRole::bias;
}

}  // namespace

std::vector<std::string> token_layer_keys(LayerKind kind) {
  switch (kind) {
    case LayerKind::embedding:
      return {"vocabulary", "out"};
    case LayerKind::positions:
      return {"count", "extra"};
    case LayerKind::linear:
      return {"out", "bias", "tied"};
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
      return {"width"};
    case LayerKind::rotary:
      return {"features"};
    case LayerKind::attention:
      return {"heads",  "kv_heads", "head_dim", "value_dim", "shared_dim", "causal",
              "window", "fused",    "dropout",  "chunked",   "sinks",      "buckets"};
    case LayerKind::take:
      return {"tokens"};
    case LayerKind::router:
      return {"experts", "active", "bias"};
    case LayerKind::experts:
      return {"inner", "gated", "bias"};
    case LayerKind::recurrence:
      return {"rule", "heads", "head_dim", "state", "groups", "taps", "taps_bias", "chunk", "step_rank", "inner_norms"};
    default:
      return {};
  }
}

bool is_of_tokens(LayerKind kind) {
  return kind == LayerKind::gelu || kind == LayerKind::silu || kind == LayerKind::tanh || kind == LayerKind::multiply ||
         !token_layer_keys(kind).empty();
}

bool reads_several(LayerKind kind) {
  return kind == LayerKind::add || kind == LayerKind::concat || kind == LayerKind::multiply ||
         kind == LayerKind::attention || kind == LayerKind::experts;
}

TokenLayer read_token_layer(LayerKind kind, const std::string& name, const std::vector<int>& from, const JsonNode& node,
                            const Shape& in, const std::function<int(const JsonNode&)>& layer_named) {
  const int first = from[0];
  switch (kind) {
    case LayerKind::embedding:
      return [=, v = whole(node, "vocabulary"), out = whole(node, "out")](GraphBuilder& net) {
        return net.embedding(name, first, v, out);
      };
    case LayerKind::positions:
      return [=, count = whole(node, "count"), extra = whole_or(node, "extra", 0)](GraphBuilder& net) {
        return net.positions(name, first, count, extra);
      };
    case LayerKind::linear:
      return read_linear(name, first, node, layer_named);
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
      return [=, width = whole_or(node, "width", 0)](GraphBuilder& net) { return net.norm(name, kind, first, width); };
    case LayerKind::rotary:
      return [=, features = whole_or(node, "features", 0)](GraphBuilder& net) {
        return net.rotary(name, first, features);
      };
    case LayerKind::attention:
      return [=, shape = read_attention(node, in)](GraphBuilder& net) { return net.attention(name, from, shape); };
    case LayerKind::gelu:
    case LayerKind::silu:
    case LayerKind::tanh:
      return [=](GraphBuilder& net) { return net.activation(name, kind, first); };
    case LayerKind::multiply:
      return [=](GraphBuilder& net) { return net.multiply(name, from); };
    case LayerKind::take:
      return [=, tokens = whole(node, "tokens")](GraphBuilder& net) { return net.take(name, first, tokens); };
    case LayerKind::router:
      return [=, count = whole(node, "experts"), active = whole(node, "active"), bias = flag_or(node, "bias", false)](
                 GraphBuilder& net) { return net.router(name, first, count, active, bias); };
    case LayerKind::experts:
      return [=, inner = whole(node, "inner"), gated = flag_or(node, "gated", true),
              bias = flag_or(node, "bias", false)](GraphBuilder& net) {
        return net.experts(name, from, inner, gated, bias);
      };
    case LayerKind::recurrence:
      return [=, shape = read_recurrence(node)](GraphBuilder& net) { return net.recurrence(name, first, shape); };
    default:
      throw std::logic_error("no layer of sequences: " + to_string(kind));
  }
}

void write_token_layer(const Graph& graph, const Layer& layer, Json& json) {
  const std::int64_t tokens = std::int64_t{layer.in.height} * layer.in.width;
  switch (layer.kind) {
    case LayerKind::embedding:
      json["vocabulary"] = layer.parameters.at(0).elements / layer.out.channels;
      json["out"] = layer.out.channels;
      break;
    case LayerKind::positions:
      json["count"] = layer.parameters.at(0).elements / layer.out.channels;
      if (layer.out.height > tokens) json["extra"] = layer.out.height - tokens;
      break;
    case LayerKind::linear:
      if (layer.tied_to < 0) json["out"] = layer.out.channels;
      if (layer.tied_to >= 0) json["tied"] = graph.layers[static_cast<std::size_t>(layer.tied_to)].name;
      if (!has_bias(layer)) json["bias"] = false;
      break;
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
      if (layer.parameters.at(0).elements != layer.in.channels) json["width"] = layer.parameters[0].elements;
      break;
    case LayerKind::rotary:
      if (layer.input_elements != layer.in.elements()) json["features"] = layer.input_elements / tokens;
      break;
    case LayerKind::attention:
      write_attention(layer, json);
      break;
    case LayerKind::take:
      json["tokens"] = layer.out.height;
      break;
    case LayerKind::router:
      json["experts"] = layer.experts.count;
      json["active"] = layer.experts.active;
      if (has_bias(layer)) json["bias"] = true;
      break;
    case LayerKind::experts:
      json["inner"] = layer.experts.inner;
      if (!layer.experts.gated) json["gated"] = false;
      if (layer.experts.bias) json["bias"] = true;
      break;
    case LayerKind::recurrence:
      write_recurrence(layer.recurrence, json);
      break;
    default:
      break;
  }
}

}  // namespace lockstep::model
