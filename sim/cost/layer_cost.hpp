#pragma once
// Computes the seconds that the layers of a model take on a GPU, for a batch.
//
// Roofline of one kernel: t = launch + max(FLOP / (peak * e_c), bytes / (memory bandwidth * e_m)), with e_c and e_m the
// efficiencies reached (Williams, Waterman & Patterson 2009).
//
// A layer is one kernel in the forward pass. The backward pass has one kernel for the inputs' gradient (if it is
// needed) and one for the parameters' gradient. Layers without MACs are bound by memory: layer_cost.cpp says how often
// they read and write their activations. Attention and experts are several kernels (token_cost.hpp).
//
// The update passes over arrays of 4 bytes per parameter (engine/model/optimizer.hpp). It has one kernel per tensor, or
// two if it needs norms.
//
// The CPU enqueues kernels one after the other and runs ahead of the GPU. A pass takes as long as its kernels or
// as their enqueueing, whichever is longer: t_pass = max(sum of t, kernels * host launch). Software may compute
// GELUs, RMS norms and rotary positions in steps. Each step is then a kernel, and four steps are one operation of
// the CPU.
//
// Tensor cores load 16 bytes at once. A GEMM with weights is unaligned if the rows of an operand are no multiple of 16
// bytes, such as those of a vocabulary of 50257 in half precision. Its FLOP then take 1 / unaligned_efficiency times as
// long.
//
// In eight bits, every GEMM with weights also casts its operands: x in the forward pass and dy in the backward pass.
// Each is read in half precision and written twice with one byte per element: as it is, and transposed (Transformer
// Engine's cast and transpose).
//
// Published rates anchor the model. All times are multiplied by the factor with which an iteration at the anchor's
// batch takes batch/rate. The roofline then only divides the time between layers and scales it with the batch. Between
// two anchors the factor is interpolated linearly in log(batch). Beyond them, it is that of the nearest anchor.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"
#include "sim/cost/training_kernels.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim {
inline namespace cost {

/// Efficiency of a compute kernel by its FLOP: interpolated linearly in log(FLOP), constant beyond the points.
struct EfficiencyPoint {
  double flop;
  double efficiency;
};

/// The efficiency of GEMMs whose rows are not aligned on 16 bytes, relative to aligned ones. One value is for alignment
/// on 2 bytes, the other for 4 or 8.
struct UnalignedEfficiency {
  double on_2_bytes = 1, on_4_bytes = 1;
};

/// A device as the cost model sees it.
struct DeviceCost {
  /// The fitted laws of GEMMs with weights, fused attention and experts; null: the roofline. Laws include start-up
  /// times.
  std::shared_ptr<const TrainingKernels> kernels;
  bool is_half = false;           ///< with `kernels`: computes all GEMMs in half precision
  double peak_flops = 0;          ///< for the arithmetic used
  double half_peak_flops = 0;     ///< for GEMMs in half precision while others are in eight or four bits; 0: none
  double operand_copy_bytes = 0;  ///< per element that a GEMM reads in fewer bits than those in which it is stored
  double memory_bandwidth_bytes_per_s = 0;
  double launch_s = 0;       ///< per kernel, after the previous one
  double host_launch_s = 0;  ///< per kernel, on the processor that enqueues it
  std::vector<EfficiencyPoint> compute_efficiency{{1, 1}};
  double attention_efficiency = 1;  ///< of fused attention's arithmetic, relative to compute_efficiency
  double expert_efficiency = 1;     ///< of experts' kernels, relative to their rooflines (token_cost.hpp)
  UnalignedEfficiency unaligned_efficiency;
  /// Bytes per element, in both passes together, of layers that the software computes in steps, each a kernel. For
  /// rotary positions, elements are the rotated ones. 0: one kernel per pass.
  double gelu_bytes = 0, rms_norm_bytes = 0, rotary_bytes = 0;
  double loss_bytes_per_logit = 0;  ///< in both passes together; 0: as in a softmax (layer_cost.cpp)
  double memory_efficiency = 1;
  int activation_bytes = 4;  ///< per element of stored activations and of their gradients
  /// Factor by which a fast algorithm reduces multiplications in convolutions of 3x3 and 5x5 with stride 1 and without
  /// groups. It is 2.25 for Winograd's F(2x2, 3x3): 36 over 16 (Lavin & Gray 2016). 1: direct convolutions or GEMMs.
  double fast_convolution_gain = 1;
  int channel_tile = 1;  ///< output channels that a convolution computes at once; a partial tile costs a whole one
  /// Bytes per parameter that mixed precision copies: weights to half precision before a layer's forward kernel, and
  /// gradients to single precision after the backward one.
  double cast_bytes_per_parameter = 0;
  /// Bytes per element in a transformer's sums and norms. Autocast adds the embedding's single precision to the half
  /// precision of GEMMs. 0: as activation_bytes.
  double sum_bytes = 0;
  /// Bytes per score in the softmax of unfused attention, if its precision differs from that of the GEMMs (autocast:
  /// 4). Scores are then copied before and after it. 0: as activation_bytes.
  double softmax_bytes = 0;
  /// Bytes per parameter that a GEMM of weights' gradients reads and writes because it adds its result to their sum,
  /// beyond writing the gradient. They count only in GEMMs that are predicted by laws.
  double fused_sum_bytes_per_parameter = 0;
  int update_element_bytes = 4;   ///< of a weight, a gradient, or an element of the optimizer's state
  double saved_update_bytes = 0;  ///< per parameter, with narrower state and weights (engine/model/optimizer.hpp)
};

/// A training rate measured on one GPU, without communication.
struct RateAnchor {
  int batch;
  double samples_per_s;
};

/// The numbers of kernels that a layer launches in the two passes.
struct KernelCounts {
  int forward;
  int backward;
};

struct LayerCost {
  double forward_s = 0;
  double backward_s = 0;
};

struct ModelCost {
  std::vector<LayerCost> layers;  ///< in the order of Graph::layers
  double update_s = 0;
  double update_launch_s = 0;  ///< kernel launches in update_s, for any number of parameters
  /// Returns the seconds of the update of 1/shares of every tensor.
  double sharded_update_s(int shares) const { return update_launch_s + (update_s - update_launch_s) / shares; }
  double forward_s() const;
  double backward_s() const;
  /// Returns the seconds of an iteration on one GPU, without communication.
  double iteration_s() const { return forward_s() + backward_s() + update_s; }
  void scale(double factor);
};

/// Whether the layer is a GEMM with weights that a measured law predicts.
bool has_product_law(const model::Layer& layer, const DeviceCost& device);
/// Returns the bytes per logit, in both passes together, of a loss that separate kernels compute in single precision
/// (layer_cost.cpp).
double float_loss_bytes(int activation_bytes);
/// Returns the alignment in bytes of all rows of the layer's operands, at most 16; 16 if the layer is no GEMM.
int alignment_bytes(const model::Layer& layer, int element_bytes);
/// Counts a layer's kernels. `input_needs`: its inputs need a gradient.
KernelCounts layer_kernels(const model::Layer& layer, const DeviceCost& device, bool input_needs);
/// Uses only the roofline; batch >= 1. `repeats[i]` is the number of copies of layer i in the model; empty: one each.
/// Repeats only affect the slowdown by launches on the host. The update covers the graph's layers once.
ModelCost roofline_cost(const model::Graph& graph, const DeviceCost& device, Optimizer optimizer, int batch,
                        const std::vector<int>& repeats = {});

/// Returns the factor that makes roofline times at `batch` agree with the anchors. The anchors were measured on
/// `graph`, which may be another model than the predicted one.
double anchor_factor(const model::Graph& graph, const DeviceCost& device, Optimizer optimizer,
                     const std::vector<RateAnchor>& anchors, int batch);

}  // namespace cost
}  // namespace lockstep::sim
