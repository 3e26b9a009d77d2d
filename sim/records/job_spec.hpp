#pragma once
// A published result, or a job, in explicit facts: what was measured, on which machine, by which software and algorithm.
//
// Two ways lead here: a record in explicit keys says them itself (job_keys.hpp), and texts of publications are searched
// for them once (translate.hpp). What makes scenarios of a job (map.hpp) knows no text. A fact that is not stated stays
// open; what the translator took for granted is in `assumed`.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/choice.hpp"
#include "engine/model/graph.hpp"
#include "engine/sync/algorithm.hpp"
#include "sim/catalogue/entries.hpp"
#include "sim/records/metric.hpp"
#include "sim/records/record.hpp"
#include "sim/scenario/choices.hpp"
#include "sim/scenario/parallel_spec.hpp"

namespace lockstep::sim {
inline namespace records {

/// A name as it was stated and what it is the name of.
struct Named {
  std::string stated;   ///< empty: it is not
  std::string id;       ///< in the catalogue; empty: it has none such
  std::string why_not;  ///< with a name stated and no id, where there is more to say than that

  bool is_known() const { return !id.empty(); }
};

/// A network that the catalogue does not have, from a file or by its numbers: what the catalogue would say of it, and its
/// layers.
struct OwnModel {
  ModelEntry entry;
  model::Graph graph;
  std::optional<model::Graph> fused{};  ///< with fused attention, where `graph` has it in passes
  std::string architecture{};           ///< of a HuggingFace configuration: "llama"; empty: not known
};

/// What nodes are connected by.
struct NetworkStated {
  std::string stated;  ///< as a text (network_grammar.hpp); empty: by its id, or not at all
  std::string id;      ///< of the catalogue's networks; empty: not stated, or not known
  int count = 1;       ///< ports of a node
  bool is_count_stated = false;
  double rate_bits_per_s = 0;  ///< of a port; 0: the catalogue's own
  bool is_none = false;        ///< one node, said to be without
  bool is_stated = false;
  std::string why_not;  ///< stated, and not known: why
};

/// Who moves gradients; constants are fitted for each.
enum class Transport { nccl, baidu_ring, servers_on_host, servers_on_gpu, kvstore, mpi_on_host, mpi_on_gpu };

inline const Choices<Transport>& choices_of(Transport) {
  static const Choices<Transport> all{{Transport::nccl, "nccl"},
                                      {Transport::baidu_ring, "baidu-ring"},
                                      {Transport::servers_on_host, "ps-host"},
                                      {Transport::servers_on_gpu, "ps-gpu"},
                                      {Transport::kvstore, "kvstore"},
                                      {Transport::mpi_on_host, "mpi-host"},
                                      {Transport::mpi_on_gpu, "mpi-gpu"}};
  return all;
}

/// Precision of a record; half precision of either kind is mixed. bf16_true: parameters, gradients and the optimizer's
/// state too, as PyTorch Lightning calls it.
enum class RecordPrecision { fp32, tf32, mixed, bf16_true, fp8, fp4 };

inline const Choices<RecordPrecision>& choices_of(RecordPrecision) {
  static const Choices<RecordPrecision> all{
      {RecordPrecision::fp32, "fp32"},
      {RecordPrecision::tf32, "tf32"},
      {RecordPrecision::mixed,
       "mixed",
       {"fp16", "bf16", "float16", "bfloat16", "fp16-mixed", "bf16-mixed", "amp_fp16", "amp_bf16"}},
      {RecordPrecision::bf16_true, "bf16-true", {"pure bf16"}},
      {RecordPrecision::fp8,
       "fp8",
       {"float8", "mxfp8", "fp8-mx", "fp8-cs", "fp8-ds", "fp8-sc", "fp8-blockwise", "fp8-hybrid", "amp_fp8"}},
      {RecordPrecision::fp4, "fp4", {"nvfp4", "mxfp4", "fp4-nv"}}};
  return all;
}

/// Of the layers' arithmetic.
inline Precision layers_precision(RecordPrecision precision) {
  switch (precision) {
    case RecordPrecision::fp32:
      return Precision::fp32;
    case RecordPrecision::tf32:
      return Precision::tf32;
    case RecordPrecision::fp8:
      return Precision::fp8;
    case RecordPrecision::fp4:
      return Precision::fp4;
    case RecordPrecision::mixed:
    case RecordPrecision::bf16_true:
      break;
  }
  return Precision::mixed;
}

enum class Statistic { min, mean, median, max, sd };

inline const Choices<Statistic>& choices_of(Statistic) {
  static const Choices<Statistic> all{{Statistic::min, "min"},
                                      {Statistic::mean, "mean"},
                                      {Statistic::median, "median"},
                                      {Statistic::max, "max"},
                                      {Statistic::sd, "sd"}};
  return all;
}

/// The k-th of n gradients to come; n = 1: any gradient.
struct Order {
  int k = 1, n = 1;
};

/// Which arrival is asked for: a time before which a share of gradients comes, or the time of a share.
struct ArrivalSpec {
  double before_s = 0;  ///< > 0: the share that has come by then
  double at = 0;        ///< share of all gradients that come no later
  Order order;
  bool is_longest = false;  ///< of a run whose length is not stated
};

/// Tasks: adapters (LoRA) beside frozen weights, all weights.
inline constexpr const char *kAdapters = "lora", *kAllWeights = "sft";
/// The only offload whose time is known (sim/replica/rank_cost.hpp).
inline constexpr const char* kOffloadedOptimizer = "optimizer";

/// How a model is divided among GPUs, and what else a transformer's training does; 0: not stated.
struct SplitSpec {
  int tensor = 0, pipeline = 0, data = 0, context = 0, expert = 0, expert_tensor = 0;
  int virtual_stages = 0;
  int microbatch = 0;
  std::optional<ShardingStage> sharding;
  int sharding_group = 0;
  std::optional<ShardingCalls> sharding_calls;
  std::optional<Recomputation> recompute;
  std::optional<bool> sequence_parallel;
  std::optional<PipelineSchedule> schedule;
  std::optional<TensorOverlap> tensor_overlap;
  std::optional<bool> expert_overlap;
  std::optional<ContextExchange> context_exchange;
  std::optional<std::vector<ParallelDimension>> order;
  double expert_capacity = 0, expert_imbalance = 0;
  int lora_rank = 0;
  std::string offload;       ///< empty: none
  std::string task;          ///< "lora"; "sft" and empty: training of all weights
  bool is_asked = false;     ///< a job in words speaks of a split, be it into replicas of one GPU
  bool is_searched = false;  ///< what is not stated of it is chosen once machine and model are known (job_split.hpp)

  /// Anything of how a replica is divided and computed, as a job in words states it.
  bool is_stated() const {
    return std::max({tensor, pipeline, context, expert, expert_tensor, virtual_stages, microbatch, sharding_group,
                     lora_rank}) > 0 ||
           sharding || sharding_calls || recompute || sequence_parallel || schedule || tensor_overlap ||
           expert_overlap || context_exchange || order || expert_capacity > 0 || expert_imbalance > 0 ||
           !offload.empty();
  }
};

/// A transformer as stated; 0: not stated.
struct ShapeSpec {
  double parameters = 0;
  int layers = 0, hidden = 0, heads = 0, sequence = 0, vocabulary = 0;
};

struct JobSpec {
  const Record* record = nullptr;  ///< whose facts these are: for comparison and messages, never for facts

  // What was measured
  std::string id;
  Role role = Role::target;
  Measure measure;
  std::optional<double> value;        ///< as published
  std::optional<double> value_si;     ///< SI, over all GPUs; bandwidths in GB/s; none where it fits no unit
  std::string group, source, system;  ///< the same of two records: of one experiment, paper, machine

  // The work
  Named model;
  std::shared_ptr<const OwnModel> own_model;  ///< null: `model` is the catalogue's
  ShapeSpec shape;
  double bytes = 0;  ///< of an all-reduce; 0: not stated
  Named software;
  std::optional<RecordPrecision> precision;
  int batch_per_gpu = 0;          ///< 0: not stated
  std::int64_t global_batch = 0;  ///< 0: not stated
  int accumulation = 0;           ///< 0: not stated
  std::optional<Optimizer> optimizer;
  std::optional<bool> fused_attention;
  std::optional<bool> fast_convolutions;
  bool channels_last = false;  ///< images lie by pixel, as tensor cores take them, whatever is usual with the software
  bool decodes_on_host = false;   ///< the nodes' processors decode images from files; else nothing waits for input
  bool has_causal_flops = false;  ///< operations are counted without the half of attention that a causal mask hides
  double epochs = 0;              ///< of the training; 0: not stated

  // The machine
  Named gpu;
  int gpus = 0;           ///< 0: not stated
  int gpus_per_node = 0;  ///< 0: not stated
  int trays = 1;          ///< nodes as stated that one of `gpus_per_node` is made of: NVLink joins them
  Named link;             ///< in a node
  NetworkStated network;

  // The exchange
  std::string exchange;  ///< by its name (job_names.hpp), which says what of the following is left open; empty: by them
  std::optional<Algorithm> algorithm;  ///< beside synchronous SGD with all-reduces or servers
  std::string other_algorithm;         ///< one that is not simulated for records, by its name
  Transport transport = Transport::nccl;
  std::optional<AllReduceKind> all_reduce;
  std::optional<Wire> wire;
  std::optional<bool> overlap;
  std::optional<bool> fusion;  ///< false: every tensor on its own
  std::optional<int> tree_slices;
  std::optional<bool> in_switch;       ///< false: NVLS is off
  std::optional<ServerScheme> scheme;  ///< of servers and sufficient factors
  bool is_sequential = false;          ///< servers' copies wait for computation and the other way round
  bool places_tensors = false;         ///< servers hold whole tensors
  int tau = 0;                         ///< iterations from one synchronisation to the next; 0: not stated
  int aggregated = 0;                  ///< gradients of an update; 0: one of every worker

  SplitSpec split;

  // What the metric is of
  int baseline_gpus = 0;  ///< 0: not stated
  bool is_strong_scaling = false;
  double wanted_efficiency = 0;  ///< 0: not stated
  std::optional<Statistic> statistic;
  std::optional<int> layer;
  bool is_simulated_staleness = false;
  ArrivalSpec arrival;
  std::optional<MemoryCounter> memory_counter;

  /// Facts that the translator took for granted, by their keys: why.
  std::map<std::string, std::string> assumed;

  /// Images per GPU: as stated, else the global batch over the GPUs; 0 where neither is.
  int batch() const;
  /// Why what was assumed of a key was; empty: it was stated.
  std::string why_assumed(const std::string& key) const;
  bool has_half_parameters() const { return precision == RecordPrecision::bf16_true; }
  bool is_mlperf() const { return software.id.rfind("mlperf", 0) == 0; }
};

}  // namespace records
}  // namespace lockstep::sim
