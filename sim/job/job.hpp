#pragma once
// A training job in explicit facts: its model, machine, software, algorithm and split. Each fact is given or not. The
// stack model (sim/stack) chooses defaults for facts that are not given, and lists them with the prediction. The lookup
// of names (job_names.hpp) notes the few defaults that follow from a name. Command lines, records, and points of a plan
// all become such jobs.
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
#include "sim/catalogue/own_models.hpp"
#include "sim/job/given_split.hpp"
#include "sim/scenario/choices.hpp"

namespace lockstep::sim::job {

/// A name as given, and the catalogue's entry that it names.
struct NamedFact {
  std::string stated;   ///< empty: not given
  std::string id;       ///< id of the entry; empty: the catalogue has no such name
  std::string why_not;  ///< details for the error message, such as the nearest names

  bool is_known() const { return !id.empty(); }
};

/// The network between nodes.
struct NetworkStated {
  std::string stated;  ///< a text (network_grammar.hpp); empty: given by its id, or not given
  std::string id;      ///< id in the catalogue's networks; empty: not given, or unknown
  int count = 1;       ///< ports per node
  bool is_count_stated = false;
  double rate_bits_per_s = 0;  ///< per port; 0: the catalogue's rate
  bool is_none = false;        ///< the job says that its single node has no network
  bool is_stated = false;
  std::string why_not;  ///< why the given network is unknown
};

/// The software that transfers gradients. Each kind has its own fitted constants.
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

/// Precision of a record. Both kinds of half precision are `mixed`. `bf16_true`, PyTorch Lightning's name: parameters,
/// gradients and the optimizer's state are in bf16, too.
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

/// The numbers of a transformer that the user gave. 0: not given.
struct ShapeSpec {
  double parameters = 0;
  int layers = 0, hidden = 0, heads = 0, sequence = 0, vocabulary = 0;
};

/// A measured run of the same model on the same GPU: a given rate, or a result of the same experiment.
struct MeasuredRun {
  std::string id;                      ///< text for the list of inputs
  int gpus = 1;                        ///< number of GPUs of the run
  int batch_per_gpu = 0;               ///< 0: unknown
  double samples_per_s_per_gpu = 0;    ///< excludes exchanges of gradients; 0: unknown, or the GPUs exchanged gradients
  std::optional<Precision> precision;  ///< none: unknown
  int distance = 0;                    ///< 0: of the same experiment, 1: the same machine, 2: the same publication
  bool is_of_other_system = false;     ///< an experiment may compare several systems
  std::string of_gpu{};                ///< GPU of the measurement, if its rate was scaled to the job's GPU; else empty
};

/// Returns the text that lists a default: `"not stated; "` and the reason.
std::string default_reason(const std::string& reason);

struct [[nodiscard]] Job {
  // The work
  NamedFact model;
  std::shared_ptr<const OwnModel> own_model;  ///< null: the catalogue's `model`
  ShapeSpec shape;
  double bytes = 0;  ///< of an all-reduce; 0: not given
  NamedFact software;
  std::optional<RecordPrecision> precision;
  int batch_per_gpu = 0;                ///< 0: not given
  std::int64_t global_batch = 0;        ///< 0: not given
  int accumulation = 0;                 ///< 0: not given
  bool recomputes_blocks = false;       ///< for whole replicas (whole_replicas.hpp), as are the next two
  bool keeps_gathered_weights = false;  ///< algorithm sharded: keeps weights from forward to backward pass
  bool keeps_gradients = false;         ///< algorithm sharded: keeps all gradients until the last micro-step
  std::optional<Optimizer> optimizer;
  std::optional<model::StatePrecision> optimizer_state;
  std::optional<model::MasterWeights> master_weights;
  std::optional<bool> fused_attention;
  std::optional<bool> fused_norms, fused_rotary, fused_gelu, fused_loss;  ///< one kernel each, in place of steps
  std::optional<bool> chunked_loss;                                       ///< scores and loss of some tokens at a time
  std::optional<bool> fast_convolutions;
  bool channels_last = false;    ///< images in NHWC, as tensor cores require, even if the software's default is NCHW
  bool decodes_on_host = false;  ///< the nodes' processors decode images from files; false: no wait for input
  double epochs = 0;             ///< epochs of the training; 0: not given
  std::string epochs_source;     ///< the result that gave the epochs; empty: the job itself

  // The machine
  NamedFact gpu;
  int gpus = 0;           ///< 0: not given
  int gpus_per_node = 0;  ///< 0: not given
  int trays = 1;          ///< physical nodes that NVLink joins into a node of `gpus_per_node` GPUs
  NamedFact link;         ///< between the GPUs of a node
  NetworkStated network;

  // The exchange
  std::string exchange;  ///< key "algorithm": a preset (job_names.hpp) that sets those facts below that are not given
  std::optional<Algorithm> algorithm;  ///< none: synchronous SGD with all-reduces or servers
  std::string other_algorithm;         ///< name of an algorithm that is not simulated
  Transport transport = Transport::nccl;
  std::optional<AllReduceKind> all_reduce;
  std::optional<Wire> wire;
  std::optional<bool> overlap;
  std::optional<bool> fusion;  ///< false: every tensor is exchanged separately
  std::optional<int> tree_slices;
  std::optional<bool> in_switch;       ///< reduction in the NVSwitch (NVLS); false: off
  std::optional<ServerScheme> scheme;  ///< for servers and sufficient factors
  bool is_sequential = false;          ///< copies and computation of servers do not overlap
  bool places_tensors = false;         ///< each tensor is on one server
  int tau = 0;                         ///< iterations from one synchronisation to the next; 0: not given
  int aggregated = 0;                  ///< gradients per update; 0: one per worker

  GivenSplit split;

  std::vector<MeasuredRun> measured;  ///< known results of the same work

  std::set<std::string> given;  ///< keys (job_fields.hpp) that a file contained
  /// Reason of every assumed value, by its key.
  std::map<std::string, std::string> assumed;

  std::set<std::string> defaulted;  ///< keys of `assumed` whose values replace facts that are not given

  /// Records that a default replaces a fact that is not given; `reason` may be empty.
  void record_default(const std::string& key, const std::string& reason);
  /// Returns samples per GPU: as given, else the global batch over the GPUs; 0 if neither is given.
  int batch() const;
  /// Returns why a key's value was assumed; empty: it was given.
  std::string why_assumed(const std::string& key) const;
  bool has_half_parameters() const { return precision == RecordPrecision::bf16_true; }
  /// True if the job's rate was measured on another GPU.
  bool has_carried_rate() const;
  bool is_mlperf() const { return software.id.rfind("mlperf", 0) == 0; }
};

}  // namespace lockstep::sim::job
