#pragma once
// Estimates the fraction of a GPU that a model's kernels can use, from their number of threads.
//
// A GPU runs at most S R threads at once: S multiprocessors with R resident threads each. A kernel of n threads then
// fills this fraction of the GPU:
//
//   `o = min(1, n / (S R))`.
//
// Element-wise kernels (activation, normalisation, pooling, sums) have a thread per element of the larger of input and
// output, and R = `streaming_threads`. Matrix kernels (convolutions as implicit GEMM, fully-connected layers) have a
// thread per `outputs_per_thread` outputs, and R = `matrix_threads`, because the outputs lie in registers. Their
// backward kernels do the same multiply-adds and are assumed to have as many threads (for the gradient of the weights,
// by splitting its sum over the batch).
//
// The stream does not use the GPU while a kernel is launched. If a kernel takes t seconds, of which its launch takes l,
// its fill is o (t - l) / t. The fill of an iteration is the mean over its kernels, weighted by time:
//
//   f = sum_i t_i fill_i / sum_i t_i,    0 < f <= 1.
//
// Limits: The library's choice of kernels and tiles is unknown. Idle multiprocessors in a kernel's last wave of
// blocks count as used. Concurrent kernels do not compete for caches. The estimate is meant for small batches, where
// n < S R.
#include "sim/cost/layer_cost.hpp"

namespace lockstep::sim::cost {

struct OccupancyDevice {
  int multiprocessors = 1;       ///< S
  int streaming_threads = 2048;  ///< R of element-wise kernels, per multiprocessor
  int matrix_threads = 512;      ///< R of matrix kernels, per multiprocessor
  int outputs_per_thread = 64;   ///< for matrix kernels: 8 x 8 in a thread's registers
};

/// Returns o of a layer's kernels for a batch; 1 for the input layer.
double layer_occupancy(const model::Layer& layer, int batch, const OccupancyDevice& device);
/// Returns o of a kernel that passes once over `elements` elements.
double streaming_occupancy(double elements, const OccupancyDevice& device);

/// The fill of a layer's forward and backward pass, including launches.
struct LayerFill {
  double forward = 1;
  double backward = 1;
};

/// `roofline` must hold the roofline's times, not times scaled to a rate. Results are in the order of Graph::layers.
std::vector<LayerFill> layer_fills(const model::Graph& graph, const ModelCost& roofline, const DeviceCost& cost,
                                   int batch, const OccupancyDevice& device);

/// Returns f of forward and backward pass together.
double mean_fill(const ModelCost& cost, const std::vector<LayerFill>& fills);

}  // namespace lockstep::sim::cost
