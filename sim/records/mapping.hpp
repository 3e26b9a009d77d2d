#pragma once
// Inside sim/records: the parts of map_job().
#include <optional>
#include <string>

#include "engine/model/zoo/zoo.hpp"
#include "sim/records/map.hpp"

namespace lockstep::sim {
inline namespace records {

/// Thrown inside the room where a job cannot be mapped.
struct Unmapped {
  std::string why;
};

/// What is known of a job while it is mapped.
struct Mapping {
  const JobSpec& job;
  const std::vector<JobSpec>& given;
  const Catalogue& catalogue;
  const MapOptions& options;
  MappedRecord& result;

  const GpuEntry* gpu = nullptr;
  const StackEntry* stack = nullptr;
  const ModelEntry* model = nullptr;
  Precision precision = Precision::fp32;  ///< fp32, tf32, mixed
  Wire wire = Wire::fp32;
  const IntraNodeEntry* intra_node = nullptr;  ///< of the last cluster_of(), as the next
  const NetworkEntry* network = nullptr;       ///< nullptr: one node

  Metric metric() const { return job.measure.metric; }
  void assume(const std::string& key, const Json& value, const std::string& source);
  void note(const std::string& key, const std::vector<Assumption>& facts);
  /// The first of `names` that has been fitted; what is usual (usual.hpp) where none has. Either way they are noted.
  double constant(const std::vector<std::string>& names);
  /// Of another job of the same experiment.
  void use(const JobSpec& other);
};

Precision precision_of(Mapping& mapping);
Wire wire_of(const Mapping& mapping);
/// One GPU alone copies its gradients to a server in host memory and waits for them.
bool copies_alone(const Mapping& mapping);
CommunicationSpec communication_of(Mapping& mapping, const ClusterSpec& cluster);
/// Rings instead of whatever all-reduce it is.
void take_rings(CommunicationSpec& communication);
/// The run with the all-reduce of the job.
RecordRun with_all_reduce(Mapping& mapping, RecordRun run);
/// An iteration with the schedule of the job: servers, sufficient factors, learners, or all-reduces.
RecordRun with_schedule(Mapping& mapping, RecordRun run);

/// Whether the job's replicas are groups of GPUs, or share their state (split_map.cpp).
bool is_split(const JobSpec& job);
/// The class whose bounds a prediction has (bounds.hpp), of what `m.result` is by then: kinds in order, wider ones first.
std::string bounds_class_of(const Mapping& m);
int micro_batch_of(Mapping& mapping);
/// What a split computes again: as stated, in the words of its software, or as that does it.
Recomputation recomputation_of(const Mapping& mapping);
/// An iteration of such a job.
RecordRun with_split(Mapping& mapping, RecordRun run);

/// The cluster of `gpus` GPUs.
ClusterSpec cluster_of(Mapping& mapping, int gpus);
/// Computation: efficiencies, launches, jitter, and the rates given for `gpus` GPUs or one.
ComputeSpec compute_of(Mapping& mapping, int gpus, int batch);
int batch_of(Mapping& mapping);
/// Micro-steps of an update: as stated, or what the global batch is over that of all GPUs where that is a whole number.
int accumulation_of(const Mapping& mapping, int gpus, int batch);
/// What take_sequence_kernels() assumes, by these names.
constexpr const char* kFusedAttention = "what fused attention reaches, over products";
constexpr const char* kUnalignedProducts = "products of a vocabulary that is not padded, over others";
constexpr const char* kGeluBytes = "bytes of the GELU per element";
constexpr const char* kSoftmaxBytes = "bytes of a score in its softmax";
constexpr const char* kRmsNormBytes = "bytes of RMS norms per element";
constexpr const char* kRotaryBytes = "bytes of rotary positions per element";
constexpr const char* kLossBytes = "bytes of the loss per score";
constexpr const char* kSumBytes = "bytes of an element of sums and norms";
/// Whether attention keeps its scores on the chip: as stated, or as the software does, whatever the GPU's age.
bool has_fused_attention(const Mapping& mapping);
/// What of `compute` is of transformers' kernels, by software and GPU; `mapping.precision` is known.
void take_sequence_kernels(Mapping& mapping, ComputeSpec& compute);
/// The job's model, with the attention that its software has.
const model::Graph& graph_of(Mapping& mapping);
int gpus_of(Mapping& mapping);
/// Operations of a sample on one of the job's GPUs, as its metric counts them.
double counted_flop(Mapping& mapping);
/// The record's unit, of what was mapped: MappedRecord::per_si.
void set_unit(Mapping& mapping);

/// The run of an iteration, or of all-reduces.
RecordRun iteration_run(Mapping& mapping, int gpus, int batch);
RecordRun all_reduce_run(Mapping& mapping, int gpus, const std::vector<std::int64_t>& bytes);

/// Peak memory of a GPU in an iteration of the job.
void map_memory(Mapping& mapping);
/// A transformer on each GPU, of whose division nothing is stated: where its optimizer's state does not fit, that is divided
/// (ZeRO-1 exchanges as much as an all-reduce), and said. Throws Unmapped where weights and gradients alone do not fit.
void check_whole_replica(Mapping& mapping, const Scenario& scenario);

/// Epochs to the accuracy and their relative uncertainty: given, stated, or by the law of E(B).
void set_epochs(Mapping& mapping);
double train_samples(const Mapping& mapping);

void map_workers(Mapping& mapping);
/// The part of map_workers() that is simulated.
void map_staleness(Mapping& mapping);
void map_choices(Mapping& mapping);

}  // namespace records
}  // namespace lockstep::sim
