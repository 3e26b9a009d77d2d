#include "sim/cost/layer_cost.hpp"

#include <algorithm>
#include <cmath>

#include "sim/cost/kernel.hpp"
#include "sim/cost/token_cost.hpp"

namespace lockstep::sim {
inline namespace cost {

using model::Graph;
using model::Layer;
using model::LayerKind;

double ModelCost::forward_s() const {
  double sum = 0;
  for (const LayerCost& layer : layers) sum += layer.forward_s;
  return sum;
}

double ModelCost::backward_s() const {
  double sum = 0;
  for (const LayerCost& layer : layers) sum += layer.backward_s;
  return sum;
}

void ModelCost::scale(double factor) {
  for (LayerCost& layer : layers) {
    layer.forward_s *= factor;
    layer.backward_s *= factor;
  }
  update_s *= factor;
  update_launch_s *= factor;
}

namespace {

double efficiency_at(const std::vector<EfficiencyPoint>& curve, double flop) {
  if (flop <= curve.front().flop) return curve.front().efficiency;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (flop > curve[i].flop) continue;
    const double w = std::log(flop / curve[i - 1].flop) / std::log(curve[i].flop / curve[i - 1].flop);
    return curve[i - 1].efficiency + w * (curve[i].efficiency - curve[i - 1].efficiency);
  }
  return curve.back().efficiency;
}

// Passes of a layer without MACs over an input-sized and an output-sized array, forward and backward (x, y: input and
// output; dx, dy: their gradients). Batch norm: statistics and normalisation each read x, then y is written; backward
// reads x and dy twice, writes dx. ReLU and dropout: x -> y; (y, dy) -> dx. LRN keeps its scale: x -> scale, y; (x, y,
// dy, scale) -> dx. Pooling: x -> y; (x, y, dy) -> dx. Add: inputs -> y; dy is passed on, one sum into a branch.
// Concat, take: copies in, copies out. Softmax: a few passes over its few elements. Opaque: as a ReLU, unless measured.
// Layer and RMS norm: as batch norm, in PyTorch's kernels too (statistics, normalisation; one for dx, one for gamma and
// beta). GELU, SiLU: x -> y; (x, dy) -> dx; tanh as a ReLU. Multiply: (a, b) -> y; (a, b, dy) -> (da, db). Rotary: its
// features are rotated, and back. Embedding: rows of the table -> y; dy is added to its rows. Positions: x, y; dy is
// passed on, and read once for the table.
struct Passes {
  double forward_in, forward_out, backward_in, backward_out;
};

Passes passes_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::batch_norm:
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
      return {2, 1, 3, 2};
    case LayerKind::gelu:
    case LayerKind::silu:
      return {1, 1, 2, 1};
    case LayerKind::multiply:
      return {1, 1, 2, 1};
    case LayerKind::rotary:
      return {2, 0, 2, 0};
    case LayerKind::embedding:
      return {0, 2, 0, 2};
    case LayerKind::positions:
      return {1, 1, 0, 1};
    case LayerKind::relu:
    case LayerKind::tanh:
    case LayerKind::dropout:
    case LayerKind::opaque:
      return {1, 1, 1, 2};
    case LayerKind::lrn:
      return {1, 2, 2, 3};
    case LayerKind::max_pool:
    case LayerKind::avg_pool:
    case LayerKind::global_avg_pool:
      return {1, 1, 2, 2};
    case LayerKind::add:
      return {1, 1, 1, 1};
    case LayerKind::concat:
    case LayerKind::subsample:
    case LayerKind::take:
      return {1, 1, 1, 1};
    case LayerKind::softmax:
      return {2, 1, 1, 1};
    case LayerKind::conv:
    case LayerKind::fc:
    case LayerKind::linear:
    case LayerKind::attention:
    case LayerKind::router:
    case LayerKind::experts:
    case LayerKind::recurrence:
    case LayerKind::input:
      break;
  }
  return {0, 0, 0, 0};
}

bool has_macs(const Layer& layer) {
  return layer.macs > 0;
}

bool has_fast_algorithm(const Layer& layer) {
  const model::Window& w = layer.window;
  const bool is_square = w.kernel_h == w.kernel_w && (w.kernel_h == 3 || w.kernel_h == 5);
  return layer.kind == LayerKind::conv && w.groups == 1 && is_square && w.stride_h == 1 && w.stride_w == 1;
}

// Returns the channels that are computed over those that are needed.
double tiled(const Layer& layer, int channels, int tile) {
  const bool is_tiled = layer.kind == LayerKind::conv || layer.kind == LayerKind::linear;
  if (!is_tiled || layer.window.groups > 1) return 1;
  return double((channels + tile - 1) / tile) * tile / channels;
}

// Returns the last layer with MACs (vocabulary or classes), which stays in half precision.
std::size_t last_with_macs(const Graph& graph) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < graph.layers.size(); ++i)
    if (graph.layers[i].macs > 0 && !is_token_layer(graph.layers[i])) last = i;
  return last;
}

double aligned_share(const DeviceCost& device, int bytes) {
  if (bytes >= 16) return 1;
  return bytes >= 4 ? device.unaligned_efficiency.on_4_bytes : device.unaligned_efficiency.on_2_bytes;
}

// If a GEMM's rows are aligned on fewer bytes, it takes 1 / share times as long, because the tensor cores wait.
LayerCost product_cost(const Layer& layer, const DeviceCost& device, int batch, bool input_needs_gradient) {
  const double inputs = layer.in.channels, outputs = layer.out.channels;
  const double rows = static_cast<double>(layer.macs) * batch / (inputs * outputs);
  const double share = aligned_share(device, alignment_bytes(layer, device.activation_bytes));
  const double casts = casts_s(device, static_cast<double>(layer.parameter_count()));
  const auto seconds = [&](const GemmShape& shape, double added_bytes = 0) {
    return device.kernels->product_s(shape, device.is_half, added_bytes) / share;
  };
  const double of_sums = device.fused_sum_bytes_per_parameter * static_cast<double>(layer.parameter_count());
  LayerCost cost;
  cost.forward_s = casts + operand_copy_s(device, rows * inputs) + seconds({rows, outputs, inputs});
  cost.backward_s = casts + operand_copy_s(device, rows * outputs) + seconds({outputs, inputs, rows}, of_sums);  // dw
  if (input_needs_gradient) cost.backward_s += seconds({rows, inputs, outputs});  // dx from dy, w
  return cost;
}

LayerCost mac_layer_cost(const Layer& layer, const DeviceCost& device, int batch, bool input_needs_gradient) {
  const double once = 2.0 * static_cast<double>(layer.macs) * batch;
  const double direct = has_fast_algorithm(layer) ? once / device.fast_convolution_gain : once;
  const double flop = direct * tiled(layer, layer.out.channels, device.channel_tile);
  const double flop_of_dx = direct * tiled(layer, layer.in.channels, device.channel_tile);
  const double x = static_cast<double>(layer.input_elements) * batch * device.activation_bytes;
  const double y = static_cast<double>(layer.out.elements()) * batch * device.activation_bytes;
  const double parameters = static_cast<double>(layer.parameter_count());
  // A tied matrix is read here as well, although its parameters count in another layer.
  const double matrix = layer.tied_to < 0 ? parameters : double(layer.in.channels) * layer.out.channels;
  const double w = matrix * device.activation_bytes;
  const double casts = casts_s(device, parameters);
  const double share = aligned_share(device, alignment_bytes(layer, device.activation_bytes));
  LayerCost cost;
  cost.forward_s = casts + kernel_s(device, flop, x + y + w, share);
  cost.backward_s = casts + kernel_s(device, flop, x + y + w, share);  // dw from x, dy
  cost.forward_s += operand_copy_s(device, static_cast<double>(layer.input_elements) * batch);
  cost.backward_s += operand_copy_s(device, static_cast<double>(layer.out.elements()) * batch);
  if (input_needs_gradient) cost.backward_s += kernel_s(device, flop_of_dx, x + y + w, share);  // dx from dy, w
  return cost;
}

// Bytes per logit of a loss on float logits in separate kernels (PyTorch's log_softmax and nll_loss). Forward: maximum
// and sum read 4 + 4 bytes, the logarithms read and write 4 + 4. Backward: a gradient of zeros 4, its sum 4, the
// softmax's gradient 4 + 4 + 4. Each pass also copies from or to half precision, 2 + 4. On an H100 the forward pass
// takes 0.48 of both passes' time (results/h100).
constexpr double kLossForwardBytes = 16, kLossBackwardBytes = 20, kLossCopyBytes = 6;
constexpr double kLossForward =
    (kLossForwardBytes + kLossCopyBytes) / (kLossForwardBytes + kLossBackwardBytes + 2 * kLossCopyBytes);

// The cost of a layer that some software computes in steps, a kernel for each.
//
// For RMS norms and rotary positions, number and time of the kernels were measured: Llama in eager PyTorch on an H100
// (results/h100). GELUs have the steps of NewGELUActivation. Their forward share is assumed: a forward step has one or
// two backward steps.
struct InSteps {
  double bytes = 0;    // per element, both passes together
  double forward = 0;  // share of the bytes that the forward pass moves
  KernelCounts kernels{0, 0};
};

InSteps in_steps_of(const DeviceCost& device, LayerKind kind) {
  switch (kind) {
    case LayerKind::gelu:
      return {device.gelu_bytes, 0.4, {8, 12}};
    case LayerKind::rms_norm:
      return {device.rms_norm_bytes, 0.32, {8, 16}};
    case LayerKind::rotary:
      return {device.rotary_bytes, 0.43, {5, 10}};
    default:
      return {};
  }
}

LayerCost in_passes(const DeviceCost& device, double bytes, double forward, const KernelCounts& kernels) {
  return {kernel_s(device, 0, forward * bytes) + (kernels.forward - 1) * device.launch_s,
          kernel_s(device, 0, (1 - forward) * bytes) + (kernels.backward - 1) * device.launch_s};
}

LayerCost memory_layer_cost(const Layer& layer, const DeviceCost& device, int batch) {
  const Passes passes = passes_of(layer.kind);
  const bool is_sum =
      layer.kind == LayerKind::add || layer.kind == LayerKind::layer_norm || layer.kind == LayerKind::rms_norm;
  const double element_bytes = is_sum && device.sum_bytes > 0 ? device.sum_bytes : device.activation_bytes;
  const double x = static_cast<double>(layer.input_elements) * batch * element_bytes;
  const double y = static_cast<double>(layer.out.elements()) * batch * element_bytes;
  const double elements = static_cast<double>(layer.out.elements()) * batch;
  if (layer.kind == LayerKind::softmax && device.loss_bytes_per_logit > 0)
    return in_passes(device, device.loss_bytes_per_logit * elements, kLossForward, {1, 1});
  if (const InSteps steps = in_steps_of(device, layer.kind); steps.bytes > 0) {
    const double turned = static_cast<double>(layer.input_elements) * batch;
    return in_passes(device, steps.bytes * (layer.kind == LayerKind::rotary ? turned : elements), steps.forward,
                     steps.kernels);
  }
  LayerCost cost;
  cost.forward_s = kernel_s(device, 0, passes.forward_in * x + passes.forward_out * y);
  cost.backward_s = kernel_s(device, 0, passes.backward_in * x + passes.backward_out * y);
  return cost;
}

// Operations that the framework enqueues on the processor in each pass.
struct HostWork {
  double forward = 0, backward = 0;
};

// A layer's operation is about four library operations of the framework (casts, views, saving for the backward pass). A
// step of a layer in steps is only one of these.
constexpr double kOperationsOfStep = 0.25;

double operations_of_kernel(const Layer& layer, const DeviceCost& device) {
  return in_steps_of(device, layer.kind).bytes > 0 ? kOperationsOfStep : 1;
}

// Stretches a pass if the processor takes longer to enqueue it than the GPU to compute it.
void wait_for_host(ModelCost& cost, const HostWork& work, double host_launch_s, const std::vector<int>& repeats) {
  double forward = cost.forward_s(), backward = cost.backward_s();
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    forward += (repeats[i] - 1) * cost.layers[i].forward_s;
    backward += (repeats[i] - 1) * cost.layers[i].backward_s;
  }
  const double slower_forward = std::max(1.0, work.forward * host_launch_s / forward);
  const double slower_backward = std::max(1.0, work.backward * host_launch_s / backward);
  for (LayerCost& layer : cost.layers) {
    if (forward > 0) layer.forward_s *= slower_forward;
    if (backward > 0) layer.backward_s *= slower_backward;
  }
}

}  // namespace

bool has_product_law(const Layer& layer, const DeviceCost& device) {
  const bool is_product = layer.kind == LayerKind::linear || layer.kind == LayerKind::fc;
  return is_product && device.kernels != nullptr && device.kernels->has_products();
}

double float_loss_bytes(int activation_bytes) {
  return kLossForwardBytes + kLossBackwardBytes + (activation_bytes == 2 ? 2 * kLossCopyBytes : 0);
}

int alignment_bytes(const Layer& layer, int element_bytes) {
  int bytes = 16;
  if (layer.kind != LayerKind::linear) return bytes;
  const auto divides = [&](int channels) { return std::int64_t{channels} * element_bytes % bytes == 0; };
  while (!divides(layer.in.channels) || !divides(layer.out.channels)) bytes /= 2;
  return bytes;
}

KernelCounts layer_kernels(const Layer& layer, const DeviceCost& device, bool input_needs) {
  if (is_token_layer(layer)) return token_kernels(layer, device);
  if (const InSteps steps = in_steps_of(device, layer.kind); steps.bytes > 0) return steps.kernels;
  return {1, has_macs(layer) && input_needs ? 2 : 1};
}

double kernel_s(const DeviceCost& device, double flop, double bytes, double share) {
  double seconds = bytes / (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
  if (flop > 0)
    seconds = std::max(seconds, flop / (device.peak_flops * share * efficiency_at(device.compute_efficiency, flop)));
  return device.launch_s + seconds;
}

DeviceCost in_half_precision(DeviceCost device) {
  if (device.half_peak_flops > 0) device.peak_flops = device.half_peak_flops;
  device.half_peak_flops = 0;
  device.operand_copy_bytes = 0;
  device.is_half = true;
  return device;
}

double operand_copy_s(const DeviceCost& device, double elements) {
  return elements * (device.operand_copy_bytes / (device.memory_bandwidth_bytes_per_s * device.memory_efficiency));
}

double casts_s(const DeviceCost& device, double parameters) {
  return parameters * device.cast_bytes_per_parameter /
         (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
}

ModelCost roofline_cost(const Graph& graph, const DeviceCost& device, Optimizer optimizer, int batch,
                        const std::vector<int>& repeats) {
  ModelCost cost;
  cost.layers.resize(graph.layers.size());
  const DeviceCost half = in_half_precision(device);
  const std::size_t last = last_with_macs(graph);
  HostWork work;
  // A layer's output needs a gradient if this layer, or one before it, has parameters.
  std::vector<bool> needs_gradient(graph.layers.size(), false);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    bool input_needs = false;
    for (int input : layer.inputs) input_needs = input_needs || needs_gradient[static_cast<std::size_t>(input)];
    needs_gradient[i] = input_needs || !layer.parameters.empty();
    if (layer.kind == LayerKind::input) continue;
    const bool stays_in_half = i == last || layer.kind == LayerKind::conv;
    const DeviceCost& used = stays_in_half ? half : device;
    cost.layers[i] = is_token_layer(layer)            ? token_cost(layer, device, batch, input_needs)
                     : has_product_law(layer, device) ? product_cost(layer, used, batch, input_needs)
                     : has_macs(layer)                ? mac_layer_cost(layer, used, batch, input_needs)
                                                      : memory_layer_cost(layer, device, batch);
    const KernelCounts count = layer_kernels(layer, device, input_needs);
    const double operations = operations_of_kernel(layer, device) * (repeats.empty() ? 1 : repeats[i]);
    work.forward += operations * count.forward;
    work.backward += operations * count.backward;
  }
  wait_for_host(cost, work, device.host_launch_s, repeats);
  const model::UpdateArrays arrays = model::update_arrays(optimizer);
  const double parameter_bytes = static_cast<double>(graph.parameter_count()) *
                                 (arrays.passes() * device.update_element_bytes - device.saved_update_bytes);
  const double update_kernels = graph.parameter_tensors() * (arrays.has_norms() ? 2 : 1);
  cost.update_launch_s = update_kernels * device.launch_s;
  cost.update_s =
      cost.update_launch_s + parameter_bytes / (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
  return cost;
}

double anchor_factor(const Graph& graph, const DeviceCost& device, Optimizer optimizer,
                     const std::vector<RateAnchor>& anchors, int batch) {
  if (anchors.empty()) return 1;
  const auto factor_at = [&](const RateAnchor& anchor) {
    const double measured_s = anchor.batch / anchor.samples_per_s;
    return measured_s / roofline_cost(graph, device, optimizer, anchor.batch).iteration_s();
  };
  if (batch <= anchors.front().batch) return factor_at(anchors.front());
  for (std::size_t i = 1; i < anchors.size(); ++i) {
    if (batch > anchors[i].batch) continue;
    const double w =
        std::log(double(batch) / anchors[i - 1].batch) / std::log(double(anchors[i].batch) / anchors[i - 1].batch);
    return (1 - w) * factor_at(anchors[i - 1]) + w * factor_at(anchors[i]);
  }
  return factor_at(anchors.back());
}

}  // namespace cost
}  // namespace lockstep::sim
