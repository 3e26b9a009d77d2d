#include "engine/model/graph.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

namespace lockstep::model {

std::string to_string(LayerKind kind) {
  switch (kind) {
    case LayerKind::input:
      return "input";
    case LayerKind::conv:
      return "conv";
    case LayerKind::fc:
      return "fc";
    case LayerKind::batch_norm:
      return "batch_norm";
    case LayerKind::relu:
      return "relu";
    case LayerKind::max_pool:
      return "max_pool";
    case LayerKind::avg_pool:
      return "avg_pool";
    case LayerKind::global_avg_pool:
      return "global_avg_pool";
    case LayerKind::lrn:
      return "lrn";
    case LayerKind::dropout:
      return "dropout";
    case LayerKind::add:
      return "add";
    case LayerKind::concat:
      return "concat";
    case LayerKind::softmax:
      return "softmax";
    case LayerKind::subsample:
      return "subsample";
    case LayerKind::opaque:
      return "opaque";
    case LayerKind::embedding:
      return "embedding";
    case LayerKind::positions:
      return "positions";
    case LayerKind::linear:
      return "linear";
    case LayerKind::layer_norm:
      return "layer_norm";
    case LayerKind::rms_norm:
      return "rms_norm";
    case LayerKind::rotary:
      return "rotary";
    case LayerKind::attention:
      return "attention";
    case LayerKind::gelu:
      return "gelu";
    case LayerKind::silu:
      return "silu";
    case LayerKind::tanh:
      return "tanh";
    case LayerKind::multiply:
      return "multiply";
    case LayerKind::take:
      return "take";
    case LayerKind::router:
      return "router";
    case LayerKind::experts:
      return "experts";
    case LayerKind::recurrence:
      return "recurrence";
  }
  throw std::logic_error("LayerKind out of range");
}

bool Window::operator==(const Window& o) const {
  const auto fields = [](const Window& w) {
    return std::array<int, 10>{w.kernel_h,   w.kernel_w, w.stride_h,  w.stride_w, w.pad_top,
                               w.pad_bottom, w.pad_left, w.pad_right, w.ceil,     w.groups};
  };
  return fields(*this) == fields(o);
}

bool AttentionShape::operator==(const AttentionShape& o) const {
  const auto fields = [](const AttentionShape& a) {
    return std::array<int, 13>{a.heads, a.kv_heads, a.head_dim, a.value_dim, a.shared_dim, a.causal, a.window,
                               a.fused, a.dropout,  a.chunked,  a.sinks,     a.buckets,    a.keys};
  };
  return fields(*this) == fields(o);
}

std::int64_t AttentionShape::pairs_without_causal_mask(int queries) const {
  return std::int64_t{queries} * (window > 0 ? std::min(window, keys) : keys);
}

std::int64_t AttentionShape::seen_pairs(int queries) const {
  if (!causal) return pairs_without_causal_mask(queries);
  // The i-th query (from 1) sees keys - queries + i keys, until the window is full.
  const std::int64_t most = window > 0 ? std::min(window, keys) : keys;
  if (chunked && most < keys)
    return queries / most * (most * (most + 1) / 2) + (queries % most) * (queries % most + 1) / 2;
  const std::int64_t first = std::max(1, keys - queries + 1);
  const std::int64_t growing = std::clamp<std::int64_t>(most - first + 1, 0, queries);
  return growing * first + growing * (growing - 1) / 2 + (queries - growing) * most;
}

bool ExpertsShape::operator==(const ExpertsShape& o) const {
  return count == o.count && active == o.active && inner == o.inner && gated == o.gated && bias == o.bias;
}

std::int64_t Layer::parameter_count() const {
  return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0},
                         [](std::int64_t sum, const Parameter& parameter) { return sum + parameter.elements; });
}

std::int64_t Graph::parameter_count() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.parameter_count();
  return sum;
}

std::int64_t Graph::macs() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.macs;
  return sum;
}

std::int64_t Graph::fc_parameter_count() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) {
    if (layer.kind == LayerKind::fc) sum += layer.parameter_count();
  }
  return sum;
}

int Graph::parameter_tensors() const {
  std::size_t sum = 0;
  for (const Layer& layer : layers) sum += layer.parameters.size();
  return static_cast<int>(sum);
}

std::vector<Gradient> gradient_order(const Graph& graph) {
  std::vector<Gradient> order;
  for (int layer = static_cast<int>(graph.layers.size()) - 1; layer >= 0; --layer) {
    const std::vector<Parameter>& parameters = graph.layers[layer].parameters;
    for (int parameter = static_cast<int>(parameters.size()) - 1; parameter >= 0; --parameter) {
      order.push_back({layer, parameter, parameters[parameter].elements});
    }
  }
  return order;
}

}  // namespace lockstep::model
