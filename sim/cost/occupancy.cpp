#include "sim/cost/occupancy.hpp"

#include <algorithm>

#include "sim/cost/token_cost.hpp"

namespace lockstep::sim::cost {

using model::Layer;
using model::LayerKind;

namespace {

constexpr double kLeastFill = 1e-3;  // a stream that only launches kernels still uses some of the GPU

bool is_matrix_layer(const Layer& layer) {
  return layer.kind == LayerKind::conv || layer.kind == LayerKind::fc || layer.kind == LayerKind::linear ||
         is_token_layer(layer);
}

// Returns the fill including the launches of the kernels, during which the stream does not use the GPU.
double fill_of(double occupancy, double seconds, int kernels, double launch_s) {
  if (seconds <= 0) return 1;
  return std::max(kLeastFill, occupancy * std::max(0.0, 1 - kernels * launch_s / seconds));
}

// If the backward pass takes more than 1.5 times the forward pass, it has kernels for the gradient of the input.
KernelCounts kernels_at(const Layer& layer, const DeviceCost& device, const LayerCost& cost) {
  return layer_kernels(layer, device, cost.backward_s > 1.5 * cost.forward_s);
}

}  // namespace

double streaming_occupancy(double elements, const OccupancyDevice& device) {
  return std::min(1.0, elements / (double(device.multiprocessors) * device.streaming_threads));
}

double layer_occupancy(const Layer& layer, int batch, const OccupancyDevice& device) {
  if (layer.kind == LayerKind::input) return 1;
  const double outputs = static_cast<double>(layer.out.elements()) * batch;
  if (!is_matrix_layer(layer))
    return streaming_occupancy(std::max(outputs, static_cast<double>(layer.input_elements) * batch), device);
  const double threads = outputs / device.outputs_per_thread;
  return std::min(1.0, threads / (double(device.multiprocessors) * device.matrix_threads));
}

std::vector<LayerFill> layer_fills(const model::Graph& graph, const ModelCost& roofline, const DeviceCost& cost,
                                   int batch, const OccupancyDevice& device) {
  std::vector<LayerFill> fills(graph.layers.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const LayerCost& seconds = roofline.layers[i];
    const double occupancy = layer_occupancy(layer, batch, device);
    const KernelCounts kernels = kernels_at(layer, cost, seconds);
    fills[i].forward = fill_of(occupancy, seconds.forward_s, kernels.forward, cost.launch_s);
    fills[i].backward = fill_of(occupancy, seconds.backward_s, kernels.backward, cost.launch_s);
  }
  return fills;
}

double mean_fill(const ModelCost& cost, const std::vector<LayerFill>& fills) {
  double filled_s = 0, total_s = 0;
  for (std::size_t i = 0; i < cost.layers.size(); ++i) {
    filled_s += cost.layers[i].forward_s * fills[i].forward + cost.layers[i].backward_s * fills[i].backward;
    total_s += cost.layers[i].forward_s + cost.layers[i].backward_s;
  }
  return total_s > 0 ? filled_s / total_s : 1;
}

}  // namespace lockstep::sim::cost
