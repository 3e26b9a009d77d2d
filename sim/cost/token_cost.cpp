#include "sim/cost/token_cost.hpp"

#include <optional>
#include <stdexcept>
#include <vector>

#include "sim/cost/kernel.hpp"
#include "sim/cost/token_kernels.hpp"

namespace lockstep::sim {
inline namespace cost {

using model::AttentionShape;
using model::ExpertsShape;
using model::Layer;
using model::LayerKind;

namespace {

// Adds scale, mask and softmax of n scores. If the softmax's precision differs from that of the GEMMs, scores are
// copied before and after it, and no step is fused with it.
void softmax_of(Kernels& kernels, const DeviceCost& device, double scores) {
  if (device.softmax_bytes == 0) {
    add_memory_kernel(kernels, 2 * scores, 3 * scores);
    add_memory_kernel(kernels, 3 * scores, 2 * scores);
    return;
  }
  const double wide = device.softmax_bytes / device.activation_bytes;
  add_memory_kernel(kernels, 2 * scores, 2 * scores);
  add_memory_kernel(kernels, 2 * scores, 2 * scores);
  add_memory_kernel(kernels, (1 + wide) * scores, (1 + wide) * scores);
  add_memory_kernel(kernels, 2 * wide * scores, 3 * wide * scores);
  add_memory_kernel(kernels, (1 + wide) * scores, (1 + wide) * scores);
}

Kernels attention_kernels(const Layer& layer, const DeviceCost& device, int batch) {
  const AttentionShape& a = layer.attention;
  const int queries = layer.in.height * layer.in.width;
  const double rows = double(batch) * queries, keys = double(batch) * a.keys;
  const double q = rows * a.heads * a.head_dim, o = rows * a.heads * a.value_dim;
  const double k = keys * (double(a.kv_heads) * (a.head_dim - a.shared_dim) + a.shared_dim);
  const double v = keys * a.kv_heads * a.value_dim;
  Kernels kernels;
  if (a.fused) {
    const double pairs = double(batch) * a.heads * static_cast<double>(a.seen_pairs(queries));
    kernels.forward.push_back({2 * pairs * (a.head_dim + a.value_dim), q + k + v + o, true});
    kernels.backward.push_back({2 * pairs * (3. * a.head_dim + 2. * a.value_dim), 2 * (q + k + v + o), true});
    return kernels;
  }
  const double scores = rows * a.heads * a.keys;
  add_memory_kernel(kernels, 2 * (q + k + v), 2 * (q + k + v));
  add_gemm(kernels, 2 * scores * a.head_dim, q + k + scores);
  softmax_of(kernels, device, scores);
  if (a.dropout) add_memory_kernel(kernels, 2 * scores, 3 * scores);
  add_gemm(kernels, 2 * scores * a.value_dim, scores + v + o);
  add_memory_kernel(kernels, 2 * o, 2 * o);
  return kernels;
}

double tokens_of(const Layer& layer, int batch) {
  return double(batch) * layer.in.height * layer.in.width;
}

double rows_of(const Layer& layer, int batch) {
  return tokens_of(layer, batch) * layer.experts.active;
}

Kernels expert_kernels(const Layer& layer, int batch) {
  const ExpertsShape& e = layer.experts;
  const double width = layer.in.channels, inner = e.inner, into = e.gated ? 2 : 1;
  const double tokens = tokens_of(layer, batch), rows = rows_of(layer, batch);
  const double weights = e.count * width * inner;
  Kernels kernels;
  add_memory_kernel(kernels, tokens * width + rows * width, tokens * width + rows * width);
  add_gemm(kernels, 2 * rows * width * inner * into, rows * width + rows * inner * into + weights * into);
  add_memory_kernel(kernels, (into + 1) * rows * inner, (2 * into + 1) * rows * inner);
  add_gemm(kernels, 2 * rows * width * inner, rows * inner + rows * width + weights);
  add_memory_kernel(kernels, rows * width + tokens * width, 2 * rows * width + tokens * width);
  return kernels;
}

Kernels router_kernels(const Layer& layer, int batch) {
  const double tokens = tokens_of(layer, batch);
  const double x = tokens * layer.in.channels, scores = tokens * layer.experts.count;
  Kernels kernels;
  add_gemm(kernels, 2 * x * layer.experts.count, x + scores + static_cast<double>(layer.parameter_count()));
  add_memory_kernel(kernels, 3 * scores, 2 * scores);
  return kernels;
}

Kernels kernels_of(const Layer& layer, const DeviceCost& device, int batch) {
  if (layer.kind == LayerKind::attention) return attention_kernels(layer, device, batch);
  if (layer.kind == LayerKind::experts) return expert_kernels(layer, batch);
  if (layer.kind == LayerKind::router) return router_kernels(layer, batch);
  if (layer.kind == LayerKind::recurrence) return list_recurrence_kernels(layer, batch);
  throw std::logic_error("no layer of tokens: " + to_string(layer.kind));
}

double seconds(const std::vector<Kernel>& kernels, const DeviceCost& device) {
  double sum = 0;
  for (const Kernel& kernel : kernels)
    sum += kernel_s(device, kernel.flop, kernel.elements * device.activation_bytes,
                    kernel.is_attention ? device.attention_efficiency : 1);
  return sum;
}

// Returns the costs of copying the operands of experts' GEMMs to fewer bits.
LayerCost operand_copies(const Layer& layer, const DeviceCost& device, int batch) {
  if (layer.kind != LayerKind::experts) return {};
  const ExpertsShape& e = layer.experts;
  const double rows = rows_of(layer, batch), width = layer.in.channels, inner = e.inner;
  return {operand_copy_s(device, rows * (width + inner)),
          operand_copy_s(device, rows * (width + inner * (e.gated ? 2 : 1)))};
}

// Returns the costs by measured laws; none if the device has no law for the layer.
std::optional<LayerCost> cost_by_laws(const Layer& layer, const DeviceCost& device, int batch, bool input_needs) {
  const TrainingKernels* const kernels = device.kernels.get();
  if (kernels == nullptr) return std::nullopt;
  const double tokens = tokens_of(layer, batch);
  if (layer.kind == LayerKind::attention && layer.attention.fused && kernels->has_attention(layer.attention)) {
    const AttentionShape& a = layer.attention;
    const double forward_s =
        kernels->attention_s(a, layer.in.height * layer.in.width, batch) / device.attention_efficiency;
    const double more_flop = (3. * a.head_dim + 2. * a.value_dim) / (a.head_dim + a.value_dim);
    return LayerCost{forward_s, forward_s * more_flop / kAttentionBackward};
  }
  if (layer.kind == LayerKind::experts && kernels->has_experts(layer.experts.gated)) {
    const double forward_s = kernels->experts_s(layer, tokens) / device.expert_efficiency;
    return LayerCost{forward_s, 2 * forward_s};
  }
  if (layer.kind == LayerKind::router && kernels->has_products()) {
    const double width = layer.in.channels, experts = layer.experts.count;
    const double scores_s = kernel_s(device, 0, 3 * tokens * experts * device.activation_bytes);
    const double forward_s = kernels->product_s({tokens, experts, width}, true);
    const double dw_s = kernels->product_s({experts, width, tokens}, true);
    const double dx_s = input_needs ? kernels->product_s({tokens, width, experts}, true) : 0;
    return LayerCost{forward_s + scores_s, dw_s + dx_s + scores_s};
  }
  return std::nullopt;
}

}  // namespace

void add_gemm(Kernels& kernels, double flop, double elements) {
  kernels.forward.push_back({flop, elements});
  kernels.backward.insert(kernels.backward.end(), 2, {flop, elements});
}

void add_memory_kernel(Kernels& kernels, double forward, double backward) {
  kernels.forward.push_back({0, forward});
  kernels.backward.push_back({0, backward});
}

bool is_token_layer(const Layer& layer) {
  return layer.kind == LayerKind::attention || layer.kind == LayerKind::router || layer.kind == LayerKind::experts ||
         layer.kind == LayerKind::recurrence;
}

LayerCost token_cost(const Layer& layer, const DeviceCost& device, int batch, bool input_needs) {
  const double weight_casts_s = casts_s(device, static_cast<double>(layer.parameter_count()));
  if (const std::optional<LayerCost> cost = cost_by_laws(layer, device, batch, input_needs))
    return {weight_casts_s + cost->forward_s, weight_casts_s + cost->backward_s};
  const Kernels kernels = kernels_of(layer, device, batch);
  // GEMMs between activations, and those for routers' scores, are in half precision.
  const DeviceCost half = layer.kind == LayerKind::experts ? device : in_half_precision(device);
  const LayerCost copies = operand_copies(layer, device, batch);
  const bool has_backward = input_needs || !layer.parameters.empty();
  const double slower = layer.kind == LayerKind::experts ? 1 / device.expert_efficiency : 1;
  return {weight_casts_s + slower * (copies.forward_s + seconds(kernels.forward, half)),
          has_backward ? weight_casts_s + slower * (copies.backward_s + seconds(kernels.backward, half)) : 0};
}

LayerCost row_order_cost(const Layer& layer, const DeviceCost& device, int batch, double load) {
  const double elements = 2 * load * rows_of(layer, batch) * layer.in.channels;
  const double there_and_back = 2 / device.expert_efficiency * kernel_s(device, 0, elements * device.activation_bytes);
  return {there_and_back, there_and_back};
}

KernelCounts token_kernels(const Layer& layer, const DeviceCost& device) {
  const Kernels kernels = kernels_of(layer, device, 1);
  return {static_cast<int>(kernels.forward.size()), static_cast<int>(kernels.backward.size())};
}

}  // namespace cost
}  // namespace lockstep::sim
