#pragma once
// The memory that software keeps on a GPU, read from its code, in addition to the cases of split_memory.hpp.
#include "sim/split/split_memory.hpp"

namespace lockstep::sim::split {

/// DeepSpeed's ZeRO in fp16 sums gradients in half precision. It has a copy in single precision that is sharded with
/// the state. In total it needs 20 bytes per parameter with Adam (deepspeed/runtime/zero/stage_1_and_2.py,
/// single_partition_of_fp32_groups).
ParameterBytes deepspeed_parameter_bytes(Optimizer optimizer);

/// InternEvo of November 2023 keeps single-precision copies of weights and of gradients. In the update, PyTorch's
/// AdamW makes two more arrays: the root of the second moments, and the denominator. This is 28 bytes per parameter
/// with Adam. Without FSDP it also copies the gradients into one array: 30 bytes. Everything except the weights and
/// gradients of the passes is sharded with the state, and counted as master weights. The update's arrays are
/// temporary, but the allocator keeps their memory. (internlm/solver/optimizer/hybrid_zero_optim.py, _step();
/// fsdp_optimizer.py, step(); PyTorch 1.13, torch/optim/adamw.py, _single_tensor_adamw(), and 2.0,
/// _multi_tensor_adamw().)
ParameterBytes internevo_parameter_bytes(Optimizer optimizer, bool is_fsdp);

/// HAI-LLM (DeepSeek-AI 2024, "DeepSeek-V3 technical report", sections 3.2.3 and 3.3.3) keeps weights in half
/// precision, master weights and gradients in single, moments in half: 14 bytes per parameter with Adam. It keeps the
/// inputs of GEMMs and of SwiGLU in eight bits, and no outputs of experts.
ParameterBytes hai_llm_parameter_bytes(Optimizer optimizer);

/// Facts outside the split that determine the memory which software keeps.
struct SoftwareMemory {
  Precision precision = Precision::mixed;
  Optimizer optimizer = Optimizer::adam;
  model::KeptPrecisions kept{};     ///< as given, in place of the software's
  double sent_gradient_bytes = 2;   ///< bytes per gradient in messages and sums
  bool has_half_state = false;      ///< keeps nothing in single precision
  bool has_loss_in_single = false;  ///< the loss reads and writes logits in single precision
  bool has_loss_in_chunks = false;  ///< the loss computes the logits of some tokens at a time
  double reserved_bytes = kReservedBytes;
};

/// Returns the bytes that a rank keeps per parameter, activation and logit, by `spec.keeping`. With Transformer Engine
/// (`single_gradients`, `megatron_core`) GEMMs in eight bits keep one byte per input element. Those in four bits keep a
/// half, and 1/16 for the scale of every 16 elements (NVFP4).
///
/// Megatron-Core since 0.12 weights the input of the experts' second matrix by the router's probabilities, so it keeps
/// none of that matrix's outputs (megatron/core/transformer/moe/experts.py, TEGroupedMLP.forward(), permuted_probs).
///
/// HuggingFace's nanotron of July 2024 gathers the inputs of GEMMs before autograd keeps them
/// (nanotron/parallel/tensor_parallel/functional.py, column_linear). It copies the attention's output to the order of
/// its matrix (nanotron/models/llama.py, CausalSelfAttention).
SplitMemoryOptions memory_options(const ParallelSpec& spec, const SoftwareMemory& software);

/// Memory of an NCCL communicator, between the measured 544 MB for two ranks and 688 MB for more, on four A100
/// (NVIDIA/nccl issue 964).
constexpr double kCommunicatorBytes = 0.62e9;

/// Returns the bytes of a rank's communicators: one for each kind of group that has more than one rank.
double communicators_bytes(const ParallelSpec& spec);

}  // namespace lockstep::sim::split
