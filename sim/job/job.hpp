#pragma once
// A training job in explicit facts: its model, machine, software, algorithm and split. Each fact is given or not. The
// stack model (sim/stack) chooses defaults for facts that are not given, and lists them with the prediction. Looking up
// names (job_names.hpp) notes the few defaults that follow from a name. Every source of jobs ends here: command lines,
// records, points of a plan.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "engine/model/graph.hpp"
#include "engine/sync/algorithm.hpp"
#include "sim/catalogue/entries.hpp"
#include "sim/job/given_split.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim::job {

/// A name as given, and the catalogue's entry that it names.
struct NamedFact {
  std::string stated;   ///< empty: not given
  std::string id;       ///< of the entry; empty: the catalogue has no such name
  std::string why_not;  ///< details of why there is no entry, such as the nearest names

  bool is_known() const { return !id.empty(); }
};

/// A network that the catalogue does not have, from a file or described by numbers. It has an entry as in the
/// catalogue, and its layers.
struct OwnModel {
  ModelEntry entry;
  model::Graph graph;
  std::optional<model::Graph> fused{};  ///< with fused attention, if `graph` has unfused attention
  std::string architecture{};           ///< of a HuggingFace configuration: "llama"; empty: not known
};

/// The network between nodes.
struct NetworkStated {
  std::string stated;  ///< as a text (network_grammar.hpp); empty: by its id, or not at all
  std::string id;      ///< of the catalogue's networks; empty: not given, or unknown
  int count = 1;       ///< ports of a node
  bool is_count_stated = false;
  double rate_bits_per_s = 0;  ///< of a port; 0: the catalogue's own
  bool is_none = false;        ///< the job says that its only node has no network
  bool is_stated = false;
  std::string why_not;  ///< if the given network is unknown: the reason
};

/// The software that transfers gradients; each has fitted constants of its own.
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

/// Returns the precision in which the layers compute.
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

/// The numbers of a transformer that the user gave; 0: not given.
struct ShapeSpec {
  double parameters = 0;
  int layers = 0, hidden = 0, heads = 0, sequence = 0, vocabulary = 0;
};

/// A measured run of the same model on the same GPU: a given rate, or a result of the job's experiment.
struct MeasuredRun {
  std::string id;                      ///< text for the list of inputs
  int gpus = 1;                        ///< without an exchange of gradients, or the result excludes its time
  int batch_per_gpu = 0;               ///< 0: not known
  double samples_per_s_per_gpu = 0;    ///< 0: not known, or the GPUs exchanged gradients
  std::optional<Precision> precision;  ///< none: not known
  int distance = 0;                    ///< 0: of the same experiment, 1: the same machine, 2: the same publication
  bool is_of_other_system = false;     ///< an experiment may compare two systems
  std::string of_gpu{};                ///< GPU of the measurement, which was scaled to the job's; empty: the job's
};

/// Returns the text that lists a default: `"not stated; "` and the reason.
std::string default_reason(const std::string& reason);

struct [[nodiscard]] Job {
  // The work
  NamedFact model;
  std::shared_ptr<const OwnModel> own_model;  ///< null: `model` is the catalogue's
  ShapeSpec shape;
  double bytes = 0;  ///< of an all-reduce; 0: not given
  NamedFact software;
  std::optional<RecordPrecision> precision;
  int batch_per_gpu = 0;                ///< 0: not given
  std::int64_t global_batch = 0;        ///< 0: not given
  int accumulation = 0;                 ///< 0: not given
  bool recomputes_blocks = false;       ///< of whole replicas (whole_replicas.hpp), like the next
  bool keeps_gathered_weights = false;  ///< algorithm sharded: keeps them from forward to backward pass
  bool keeps_gradients = false;         ///< of the same: whole, until the last micro-step
  std::optional<Optimizer> optimizer;
  std::optional<model::StatePrecision> optimizer_state;
  std::optional<model::MasterWeights> master_weights;
  std::optional<bool> fused_attention;
  std::optional<bool> fast_convolutions;
  bool channels_last = false;    ///< images are stored by pixel, as tensor cores require, whatever the software does
  bool decodes_on_host = false;  ///< the nodes' processors decode images from files; false: no wait for input
  double epochs = 0;             ///< of the training; 0: not given
  std::string epochs_source;     ///< the result that gave them; empty: the job itself

  // The machine
  NamedFact gpu;
  int gpus = 0;           ///< 0: not given
  int gpus_per_node = 0;  ///< 0: not given
  int trays = 1;          ///< physical nodes that NVLink joins into one node of `gpus_per_node` GPUs
  NamedFact link;         ///< between the GPUs of a node
  NetworkStated network;

  // The exchange
  std::string exchange;  ///< key "algorithm": a preset (job_names.hpp) that sets facts below which are not given
  std::optional<Algorithm> algorithm;  ///< none: synchronous SGD with all-reduces or servers
  std::string other_algorithm;         ///< name of an algorithm that is not simulated
  Transport transport = Transport::nccl;
  std::optional<AllReduceKind> all_reduce;
  std::optional<Wire> wire;
  std::optional<bool> overlap;
  std::optional<bool> fusion;  ///< false: every tensor is exchanged separately
  std::optional<int> tree_slices;
  std::optional<bool> in_switch;       ///< reduction in the NVSwitch (NVLS); false: off
  std::optional<ServerScheme> scheme;  ///< of servers and sufficient factors
  bool is_sequential = false;          ///< servers' copies and computation do not overlap
  bool places_tensors = false;         ///< each tensor is on one server
  int tau = 0;                         ///< iterations from one synchronisation to the next; 0: not given
  int aggregated = 0;                  ///< gradients per update; 0: one per worker

  GivenSplit split;

  std::vector<MeasuredRun> measured;  ///< known results of the same work

  std::set<std::string> given;  ///< keys (job_fields.hpp) that a file gave
  /// Reason of every assumed value, by its key.
  std::map<std::string, std::string> assumed;

  std::set<std::string> defaulted;  ///< keys of `assumed` whose values replace facts that are not given

  /// Records that a fact which is not given has a default; `reason` may be empty.
  void record_default(const std::string& key, const std::string& reason);
  /// Samples per GPU: as given, else the global batch over the GPUs; 0 if neither is given.
  int batch() const;
  /// Why a key's value was assumed; empty: it was given.
  std::string why_assumed(const std::string& key) const;
  bool has_half_parameters() const { return precision == RecordPrecision::bf16_true; }
  /// True if its rate was measured on another GPU.
  bool has_carried_rate() const;
  bool is_mlperf() const { return software.id.rfind("mlperf", 0) == 0; }
};

}  // namespace lockstep::sim::job
