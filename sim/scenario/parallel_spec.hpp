#pragma once
// How one replica of a model is split over GPUs: tensor, sequence, pipeline, context, expert and sharded data
// parallelism. The object "parallel"; its formulas are in sim/split/README.md.
//
// A rank has a coordinate on each of five dimensions. GPUs = tensor * context * data * pipeline. Expert parallelism
// lies within data parallelism, as in Megatron-LM: groups of `expert` replicas of the dense layers divide the experts
// among them, so that an expert has data / expert copies. Tensor ranks split each expert's matrices, or hold whole
// experts and belong to the group (Liu et al. 2025, "MoE parallel folding"; Megatron-LM's --expert-tensor-parallel-size
// 1). With whole experts a group spans expert / tensor replicas.
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "engine/base/object_format.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::scenario {

/// `data` excludes its expert part: neighbours in this dimension hold the same experts.
enum class ParallelDimension { tensor, context, expert, data, pipeline };

inline const Choices<ParallelDimension>& choices_of(ParallelDimension) {
  static const Choices<ParallelDimension> all{{ParallelDimension::tensor, "tensor"},
                                              {ParallelDimension::context, "context"},
                                              {ParallelDimension::expert, "expert"},
                                              {ParallelDimension::data, "data"},
                                              {ParallelDimension::pipeline, "pipeline"}};
  return all;
}

/// State that data-parallel ranks divide (Rajbhandari et al. 2020, "ZeRO"): none; the optimizer's state; state and
/// gradients; state, gradients and weights (PyTorch's FSDP).
enum class ShardingStage { none, zero1, zero2, zero3 };

inline const Choices<ShardingStage>& choices_of(ShardingStage) {
  static const Choices<ShardingStage> all{{ShardingStage::none, "none"},
                                          {ShardingStage::zero1, "zero1"},
                                          {ShardingStage::zero2, "zero2"},
                                          {ShardingStage::zero3, "zero3", {"fsdp"}}};
  return all;
}

/// How weights and gradients of zero3 are exchanged.
enum class ShardingCalls {
  layers,   ///< one collective per layer; the next layer's overlaps computing (PyTorch's FSDP, DeepSpeed since 0.6)
  tensors,  ///< one collective per matrix, while nothing is computed. The host cuts and copies a slice for each rank.
            ///< (DeepSpeed up to 0.5.4: deepspeed/runtime/zero/partition_parameters.py, _allgather_param(), which waits
            ///< for the device, and _reduce_scatter_gradient())
};

inline const Choices<ShardingCalls>& choices_of(ShardingCalls) {
  static const Choices<ShardingCalls> all{{ShardingCalls::layers, "layers"}, {ShardingCalls::tensors, "tensors"}};
  return all;
}

/// sim/split/pipeline.hpp describes each.
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zb_h1, zb_v, dual_pipe, dual_pipe_v };

inline const Choices<PipelineSchedule>& choices_of(PipelineSchedule) {
  static const Choices<PipelineSchedule> all{{PipelineSchedule::gpipe, "gpipe"},
                                             {PipelineSchedule::one_f_one_b, "1f1b"},
                                             {PipelineSchedule::interleaved, "interleaved"},
                                             {PipelineSchedule::zb_h1, "zb-h1"},
                                             {PipelineSchedule::zb_v, "zb-v", {"zbv", "ZBVZeroBubble"}},
                                             {PipelineSchedule::dual_pipe, "dualpipe"},
                                             {PipelineSchedule::dual_pipe_v, "dualpipe-v", {"dualpipev"}}};
  return all;
}

/// Activations that are recomputed in the backward pass:
///   `none`                None.
///   `selective`           Those of the attention's core (Korthikanti et al. 2022).
///   `alternate_matrices`  All but a layer's input, the attention's output and the outputs of every other matrix.
///                         (torchtitan's "selective", option "op": torchtitan/parallelisms/parallelize_llama.py)
///   `full`                All but a layer's input.
enum class Recomputation { none, selective, alternate_matrices, full };

inline const Choices<Recomputation>& choices_of(Recomputation) {
  static const Choices<Recomputation> all{{Recomputation::none, "none"},
                                          {Recomputation::selective, "selective"},
                                          {Recomputation::alternate_matrices, "alternate-matrices"},
                                          {Recomputation::full, "full"}};
  return all;
}

/// Parts of a layer that can be recomputed separately, under `selective` (Megatron-LM's --recompute-modules:
/// megatron/core/transformer/transformer_config.py).
enum class RecomputeModule {
  core_attention,  ///< scores and their softmax
  layer_norm,      ///< outputs of the norms before attention and MLP
  activation,      ///< output of the non-linearity, of experts too (Megatron-LM's moe_act)
  latent_up,       ///< queries, keys and values of latent attention, from their compressions (mla_up_proj)
  mlp,             ///< all of a dense MLP
  shared_experts,
  moe,  ///< router, experts and both all-to-alls
};

inline const Choices<RecomputeModule>& choices_of(RecomputeModule) {
  static const Choices<RecomputeModule> all{{RecomputeModule::core_attention, "core_attn"},
                                            {RecomputeModule::layer_norm, "layernorm"},
                                            {RecomputeModule::activation, "act", {"moe_act"}},
                                            {RecomputeModule::latent_up, "mla_up_proj"},
                                            {RecomputeModule::mlp, "mlp"},
                                            {RecomputeModule::shared_experts, "shared_experts"},
                                            {RecomputeModule::moe, "moe"}};
  return all;
}

/// Frozen weights of adapters (LoRA): as the layers compute, quantised, or in eight bits that GEMMs read. Passes make
/// quantised weights whole again in half precision (dequantisation_of()).
enum class FrozenWeights { whole, int8, nf4, gptq, fp8 };

inline const Choices<FrozenWeights>& choices_of(FrozenWeights) {
  static const Choices<FrozenWeights> all{{FrozenWeights::whole, "whole", {"half"}},
                                          {FrozenWeights::int8, "int8", {"8bit"}},
                                          {FrozenWeights::nf4, "nf4", {"4bit", "fp4"}},
                                          {FrozenWeights::gptq, "gptq", {"int4"}},
                                          {FrozenWeights::fp8, "fp8", {"float8"}}};
  return all;
}

/// Returns the bytes of a quantised weight. LLM.int8() has a scale for each row (Dettmers et al. 2022). NF4 has an 8-bit
/// scale for each 64 weights, and a scale of 4 bytes for each 256 of these (Dettmers et al. 2023, "QLoRA", section 3).
/// GPTQ has a scale in half precision and a 4-bit zero for each 128 weights (auto_gptq's usual group_size).
constexpr double quantised_bytes(FrozenWeights weights) {
  if (weights == FrozenWeights::nf4) return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
  if (weights == FrozenWeights::gptq) return 0.5 + 2.5 / 128;
  return 1;
}

/// True if passes make the weights whole again before they multiply them.
constexpr bool is_quantised(FrozenWeights weights) {
  return weights == FrozenWeights::int8 || weights == FrozenWeights::nf4 || weights == FrozenWeights::gptq;
}

/// How passes make a quantised weight whole again, in half precision.
struct Dequantisation {
  double bytes;             ///< moved per weight
  int kernels;              ///< per matrix
  bool keeps_for_backward;  ///< the whole weights of the forward pass stay on the GPU for the backward pass
};

/// bitsandbytes dequantises in one kernel, in both passes. AutoGPTQ (nn_modules/qlinear/qlinear_cuda_old.py, forward(),
/// for batches) does so in steps: a shift that writes integers of 32 bits, a cast to 8 bits, a mask, a difference, a
/// product. Its autograd keeps the result for the backward pass.
constexpr Dequantisation dequantisation_of(FrozenWeights weights) {
  if (weights == FrozenWeights::gptq) return {(0.5 + 4) + (4 + 1) + (1 + 1) + (1 + 1) + (1 + 2), 5, true};
  return {quantised_bytes(weights) + 2, 1, false};
}

/// Matrices of a layer with adapters: those of the attention, or those of a dense network behind it, too. Experts have
/// none.
enum class LoraTarget { attention, all };

inline const Choices<LoraTarget>& choices_of(LoraTarget) {
  static const Choices<LoraTarget> all{{LoraTarget::attention, "attention"}, {LoraTarget::all, "all", {"all-linear"}}};
  return all;
}

/// Bytes per parameter that software keeps in half precision, with Adam (sim/split/software_memory.hpp).
enum class StateKeeping {
  mixed,             ///< 16 bytes: weight and gradient in half precision, master weight and state in single
  mixed_torch,       ///< 16: as `mixed`, with the layers and the loss of PyTorch
  autocast,          ///< 16: weights and gradients in single precision
  single_gradients,  ///< 18: as `mixed`, with gradients summed in single precision
  megatron_core,     ///< 18: as `single_gradients`, without outputs of experts
  fsdp,              ///< 16: as `autocast`, with gathers in half precision
  deepspeed,         ///< 20: copies of gradients in single precision
  internevo,         ///< 28 or 30
  hai_llm,           ///< 14: gradients in single precision, moments in half
  nanotron,          ///< 18: as `single_gradients`, with gathered inputs of GEMMs
};

inline const Choices<StateKeeping>& choices_of(StateKeeping) {
  static const Choices<StateKeeping> all{{StateKeeping::mixed, "mixed"},
                                         {StateKeeping::mixed_torch, "mixed-torch"},
                                         {StateKeeping::autocast, "autocast"},
                                         {StateKeeping::single_gradients, "single-gradients"},
                                         {StateKeeping::megatron_core, "megatron-core"},
                                         {StateKeeping::fsdp, "fsdp"},
                                         {StateKeeping::deepspeed, "deepspeed"},
                                         {StateKeeping::internevo, "internevo"},
                                         {StateKeeping::hai_llm, "hai-llm"},
                                         {StateKeeping::nanotron, "nanotron"}};
  return all;
}

/// How software divides layers over the stages of a pipeline:
///   `even`     As many layers on each stage. If that is impossible, embedding and loss count as a layer each.
///   `by_cost`  A stage takes layers until the FLOP of all layers so far exceed its share. The loss counts by its FLOP,
///              the embedding does not count (nanotron/models/base.py, build_model()).
enum class StagePartition { even, by_cost };

inline const Choices<StagePartition>& choices_of(StagePartition) {
  static const Choices<StagePartition> all{{StagePartition::even, "even"}, {StagePartition::by_cost, "by-cost"}};
  return all;
}

/// Which collectives of tensor ranks are overlapped with GEMMs:
///   `none`      None.
///   `backward`  In the backward pass, those of a matrix's input, with the GEMMs of gradients. (Megatron-LM since 2022:
///               megatron/core/tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication)
///   `all`       All. Each is cut into as many pieces as ranks, and each piece is overlapped with the GEMM of another.
///               (Transformer Engine's userbuffers, --tp-comm-overlap; PyTorch's asynchronous tensor parallelism)
enum class TensorOverlap { none, backward, all };

inline const Choices<TensorOverlap>& choices_of(TensorOverlap) {
  static const Choices<TensorOverlap> all{
      {TensorOverlap::none, "none"}, {TensorOverlap::backward, "backward"}, {TensorOverlap::all, "all"}};
  return all;
}

/// How context ranks exchange keys and values.
enum class ContextExchange {
  ring,        ///< Liu et al. 2023, "Ring attention": blocks travel from rank to rank
  all_gather,  ///< Llama team 2024, "The Llama 3 herd of models", section 3.3.2
  all_to_all,  ///< Jacobs et al. 2023, "DeepSpeed Ulysses": heads for tokens
};

inline const Choices<ContextExchange>& choices_of(ContextExchange) {
  static const Choices<ContextExchange> all{{ContextExchange::ring, "ring"},
                                            {ContextExchange::all_gather, "all-gather"},
                                            {ContextExchange::all_to_all, "all-to-all"}};
  return all;
}

/// How tokens travel to experts on other ranks, and back. Only an all-to-all sends a copy for each of its experts. The
/// others send one copy to each node, which NVLink passes on once to each GPU with its experts.
enum class ExpertDispatch {
  all_to_all,
  deepep,    ///< whose multiprocessors limit what a GPU passes on
  hybridep,  ///< NVLink limits it
};

inline const Choices<ExpertDispatch>& choices_of(ExpertDispatch) {
  static const Choices<ExpertDispatch> all{{ExpertDispatch::all_to_all, "all-to-all"},
                                           {ExpertDispatch::deepep, "deepep"},
                                           {ExpertDispatch::hybridep, "hybridep"}};
  return all;
}

/// Bytes/s that a GPU passes on within its node at most; 0: as NVLink does. Measured with DeepEP's 20 multiprocessors
/// (results/kernels, combine in bf16): 291 GB/s on H100, 290 on H200, 308 on B200, and 15 GB/s per multiprocessor.
constexpr double dispatch_bytes_per_s(ExpertDispatch dispatch) {
  return dispatch == ExpertDispatch::deepep ? 300e9 : 0;
}

struct ParallelSpec {
  int tensor = 1;
  bool sequence = false;  ///< divides along the sequence the activations that tensor parallelism leaves whole
  int pipeline = 1;
  int virtual_stages = 1;  ///< chunks of layers per stage; zb-v, dualpipe and dualpipe-v always have two: chunks()
  int context = 1;
  int expert = 1;         ///< ranks that divide a layer's experts
  int expert_tensor = 0;  ///< ranks that divide each expert's matrices, 1 or `tensor`; 0: `tensor`
  int data = 0;           ///< replicas, including expert groups; 0: follows from the GPUs
  ShardingStage sharding = ShardingStage::none;
  int sharding_group = 0;  ///< ranks that divide one copy of the sharded state; 0: all data and context ranks
  ShardingCalls sharding_calls = ShardingCalls::layers;
  double slice_overhead_s = 12e-6;  ///< of the host, per rank's slice of a collective (ShardingCalls::tensors)
  /// Innermost first. Megatron-LM's is tensor, context, expert, data, pipeline ("tp-cp-ep-dp-pp": megatron/core/
  /// parallel_state.py, initialize_model_parallel(), `order`).
  std::vector<ParallelDimension> order{ParallelDimension::tensor, ParallelDimension::context, ParallelDimension::expert,
                                       ParallelDimension::data, ParallelDimension::pipeline};
  int global_batch = 0;   ///< sequences per iteration of all replicas; 0: from micro_batches
  int micro_batches = 0;  ///< per replica and iteration; 0: from global_batch
  int micro_batch = 1;    ///< sequences of a data-parallel rank's micro-batch
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  Recomputation recompute = Recomputation::none;
  std::set<RecomputeModule> recompute_modules;  ///< of `selective`; none: core_attention
  int recompute_layers = 0;    ///< of `full`: the first layers of each chunk, the others keep all; 0: all layers
  int recompute_interval = 1;  ///< of `full`: layers from one kept input to the next
  StateKeeping keeping = StateKeeping::mixed;
  StagePartition partition = StagePartition::even;
  TensorOverlap tensor_overlap = TensorOverlap::none;
  int lora_rank = 0;  ///< > 0: only two matrices of that rank are trained per matrix of `lora_target`
  LoraTarget lora_target = LoraTarget::attention;
  FrozenWeights frozen_weights = FrozenWeights::whole;
  bool offloads_optimizer = false;  ///< the optimizer's state lies in host memory, where processors update
  int offload_layers = 0;           ///< first layers whose activations lie in host memory between the passes
  ContextExchange context_exchange = ContextExchange::ring;
  bool expert_overlap = false;         ///< experts' all-to-alls overlap passes of another micro-batch
  double expert_overlap_share = 0.15;  ///< of a GPU's multiprocessors, which an overlapping exchange holds
  ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;
  double expert_capacity = 0;   ///< > 0: rows of an expert over its even share; the rest is dropped or padding
  double expert_imbalance = 1;  ///< without a capacity: tokens of the busiest expert rank over the mean

  /// True if the activations of that part of a layer are recomputed.
  bool recomputes(RecomputeModule module) const {
    if (recompute == Recomputation::full) return true;
    if (recompute != Recomputation::selective) return false;
    return recompute_modules.empty() ? module == RecomputeModule::core_attention : recompute_modules.count(module) > 0;
  }
  /// True if gathered weights and whole gradients stay on the GPU from the first micro-batch to the last. PyTorch's
  /// FSDP does so in pipelines (torchtitan/parallelisms/parallelize_llama.py, apply_fsdp(): "For PP, do not reshard after
  /// forward"; torch/distributed/pipelining/stage.py, backward_maybe_with_nosync()).
  bool keeps_gathered_state() const {
    const bool is_sharded = sharding == ShardingStage::zero2 || sharding == ShardingStage::zero3;
    return keeping == StateKeeping::fsdp && pipeline > 1 && is_sharded && ranks_of_sharding() > 1;
  }
  /// The stage whose exchanges the state has. Weights that stay gathered are gathered once, as with ZeRO-1.
  ShardingStage exchanged_sharding() const { return keeps_gathered_state() ? ShardingStage::zero1 : sharding; }
  /// True if weights and gradients are exchanged while nothing is computed.
  bool waits_for_shards() const { return sharding_calls == ShardingCalls::tensors; }
  /// True for pure data parallelism: every GPU has all weights, gradients and optimizer state, and trains all weights.
  bool is_data_parallel_alone() const {
    return tensor == 1 && context == 1 && pipeline == 1 && expert == 1 && sharding == ShardingStage::none &&
           lora_rank == 0 && !offloads_optimizer && offload_layers == 0;
  }
  /// Chunks of layers per stage.
  int chunks() const { return pipeline > 1 && has_two_chunks() ? 2 : virtual_stages; }
  bool has_two_chunks() const {
    return schedule == PipelineSchedule::zb_v || schedule == PipelineSchedule::dual_pipe ||
           schedule == PipelineSchedule::dual_pipe_v;
  }
  /// True if the gradients of weights have a separate pass, at least for some micro-batches.
  bool splits_backward() const { return pipeline > 1 && (schedule == PipelineSchedule::zb_h1 || has_two_chunks()); }
  /// True if every layer has two copies in the pipeline, whose gradients are summed.
  bool has_two_copies() const { return pipeline > 1 && schedule == PipelineSchedule::dual_pipe; }
  /// Returns the number of GPUs of one replica of the dense layers.
  int gpus_of_replica() const { return tensor * context * pipeline; }
  /// Ranks over which a dense layer's gradients are summed. Context ranks count, because they see different tokens.
  int gradient_ranks() const { return data * context; }
  /// True if every tensor rank holds whole experts of its own.
  bool folds_experts() const { return expert_tensor == 1 && tensor > 1; }
  int tensor_of_experts() const { return folds_experts() ? 1 : tensor; }
  /// Returns the number of data-parallel ranks in a group of experts.
  int expert_replicas() const { return folds_experts() ? expert / tensor : expert; }
  /// Ranks over which an expert's gradients are summed.
  int expert_gradient_ranks() const { return gradient_ranks() / expert_replicas(); }
  /// Rows of the busiest rank's experts over an even share of them.
  double expert_load() const { return expert_capacity > 0 ? expert_capacity : expert > 1 ? expert_imbalance : 1; }
  /// Ranks that divide one copy of the sharded state.
  int ranks_of_sharding() const { return sharding_group > 0 ? sharding_group : gradient_ranks(); }
};

struct ScenarioProblem;  // check.hpp

/// Finds the first contradiction between the keys of a split, for any number of GPUs; pointers begin with "/parallel".
std::optional<ScenarioProblem> find_problem(const ParallelSpec& spec);
/// Also checks products of dimensions and divisibility for `gpus` GPUs. `spec.data` may be missing.
std::optional<ScenarioProblem> find_problem(const ParallelSpec& spec, int gpus);
/// The split with `data` set. Throws InputError with the first problem.
ParallelSpec on_gpus(const ParallelSpec& spec, int gpus);
/// Returns the sequences of an iteration of `replicas` replicas.
std::int64_t global_batch_of(const ParallelSpec& spec, int replicas);
/// Finds whether `replicas` do not divide the batch, or the schedule does not allow that number of micro-batches.
std::optional<ScenarioProblem> find_batch_problem(const ParallelSpec& spec, int replicas);
/// Micro-batches of a data-parallel rank per iteration; requires `spec.data`. Throws InputError if data ranks and
/// micro-batches do not divide the batch, or the schedule does not support the number of micro-batches.
int micro_batches(const ParallelSpec& spec, int global_batch);

const ObjectFormat<ParallelSpec>& parallel_format();

}  // namespace lockstep::sim::scenario
