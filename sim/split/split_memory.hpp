#pragma once
// Computes the memory of a split's GPU, part by part, for every stage of the pipeline.
//
// Parameters: weights, gradients, master weights and the optimizer's state, each divided by the ranks of its sharding
// (Rajbhandari et al. 2020, "ZeRO", section 5).
//
// Activations: The schedule's ops are followed in order. A forward pass adds the activations that its chunk keeps
// (activations.hpp), and the backward pass frees them. With ZB-H1 the pass for the weights' gradients frees them, which
// gives more than the paper's M_W. The peak is the maximum over ops of kept activations plus the working memory of the
// running backward pass.
#include <vector>

#include "sim/scenario/cluster_spec.hpp"
#include "sim/split/activations.hpp"
#include "sim/split/pipeline.hpp"

namespace lockstep::sim::split {

/// A rank's bytes per parameter.
struct ParameterBytes {
  double weight = 2;
  double gradient = 2;
  double master = 4;    ///< single-precision copies of the layers' weights, and of gradients if those are sharded
  double state = 8;     ///< Adam's two moments
  double gathered = 2;  ///< per gathered weight, if weights are sharded

  double total() const { return weight + gradient + master + state; }
};

/// Half precision (fp16, bf16; fp8, whose weights stay in bf16) keeps master weights: 16 bytes with Adam (ZeRO, section
/// 3.1), 18 with gradients in single precision (Megatron-LM, accumulate_allreduce_grads_in_fp32). Single precision: 16.
ParameterBytes parameter_bytes(Precision precision, Optimizer optimizer, bool keeps_single_gradients);
/// Everything is in half precision, without single-precision copies: 8 bytes with Adam.
ParameterBytes half_parameter_bytes(Optimizer optimizer);
/// DeepSpeed's bf16 optimizer keeps half-precision gradients, and their sums over micro-batches in single precision.
/// Every rank has the sums of all parameters: 20 bytes with Adam (deepspeed/runtime/bf16_optimizer.py,
/// fp32_groups_gradients_flat; BLOOM's chronicles: "4bytes x params and it's not sharded across gpus").
ParameterBytes deepspeed_bf16_parameter_bytes(Optimizer optimizer);
/// PyTorch's FSDP with mixed precision, and autocast, keep weights and gradients in single precision, and gather in
/// half: 16 bytes with Adam.
ParameterBytes fsdp_parameter_bytes(Optimizer optimizer);

/// Share of allocated memory that PyTorch's caching allocator reserves in addition. This is an assumption. In 43 runs
/// on 8 B200, the largest allocation was reserved with 3 to 9 % more, 4 % in the median (SimuMax v1.2, docs/b200,
/// max_reserved over max_allocated).
constexpr double kAllocatorMargin = 0.04;

/// Layers whose offloaded activations are on the GPU at the same time: one is computed, another is copied (Transformer
/// Engine's double buffer: transformer_engine/pytorch/cpu_offload.py, AsyncDoubleBufferGroupOffloadHandler).
constexpr int kOffloadedInFlight = 2;

struct SplitMemoryOptions {
  ParameterBytes parameters;
  ActivationBytes activations;
  LossBytes loss = kMegatronLoss;
  /// Transformer Engine with fused accumulation of weight gradients gives autograd an empty tensor instead. It keeps
  /// one for every shape of a matrix (transformer_engine/pytorch/module/base.py, get_dummy_wgrad()).
  bool keeps_empty_gradients = false;
  int layers_ahead = 1;  ///< layers gathered while another is computed, if weights are sharded
  double reserved_bytes = kReservedBytes;
  double allocator_margin = kAllocatorMargin;
};

struct SplitMemoryPart {
  const char* name;
  double bytes;
};

struct SplitMemory {
  double weights_bytes = 0;
  double gradients_bytes = 0;
  double optimizer_bytes = 0;    ///< master weights and state; 0 if they are in host memory
  double activations_bytes = 0;  ///< held at the peak
  double working_bytes = 0;      ///< other memory of a pass at the peak: gradients, recomputed tensors, logits
  double buffers_bytes = 0;      ///< messages between stages, gathered weights and their gradients, empty gradients
  double margin_bytes = 0;       ///< for the allocator (assumed)
  double reserved_bytes = 0;     ///< for driver and framework

  std::vector<SplitMemoryPart> parts() const;
  /// Returns the value of a framework's counter of allocated bytes.
  double allocated_bytes() const;
  double total_bytes() const;
};

/// Returns the memory of a GPU of `stage`; `parts` are those of the whole pipeline.
SplitMemory split_memory(const TransformerShape& shape, const ParallelSpec& spec, const std::vector<ModelPart>& parts,
                         int stage, int micro_batches, const SplitMemoryOptions& options);
/// Returns the memory of the GPU that needs most.
SplitMemory largest_split_memory(const TransformerShape& shape, const ParallelSpec& spec,
                                 const std::vector<ModelPart>& parts, int micro_batches,
                                 const SplitMemoryOptions& options);

}  // namespace lockstep::sim::split
