#pragma once
// Inside sim/records: the parts of map_record().
#include <optional>
#include <string>

#include "engine/model/zoo/zoo.hpp"
#include "sim/records/map.hpp"
#include "sim/records/measure.hpp"

namespace lockstep::sim {

/// Thrown inside the room where a record cannot be mapped.
struct Unmapped {
  std::string why;
};

/// What is known of a record while it is mapped.
struct Mapping {
  const Record& record;
  const std::vector<Record>& all;
  const Catalogue& catalogue;
  const MapOptions& options;
  MappedRecord& result;

  std::string metric;  ///< by measure_of()
  const GpuEntry* gpu = nullptr;
  const StackEntry* stack = nullptr;
  const ModelEntry* model = nullptr;
  std::string precision;  ///< fp32, tf32, mixed
  std::string wire;       ///< fp32, fp16
  std::string transport;  ///< who moves gradients: nccl, ps-host, ps-gpu, kvstore, mpi-host, mpi-gpu
  const IntraNodeEntry* intra_node = nullptr;  ///< of the last cluster_of()
  Collective collective = Collective::all_reduce;

  void assume(const std::string& key, const Json& value, const std::string& source);
  void note(const std::string& key, const std::vector<Assumption>& facts);
  /// The first of `names` that has been fitted; `otherwise` where none has. Either way the names are noted.
  double constant(const std::vector<std::string>& names, double otherwise);
  Precision arithmetic() const { return choice_named<Precision>(precision, "precision"); }
  Wire wire_type() const { return choice_named<Wire>(wire, "wire"); }
};

/// nullptr: none of the catalogue.
const GpuEntry* gpu_of(const Catalogue& catalogue, const Record& record);
/// By keywords of the record's source, system and algorithm.
const StackEntry& stack_of(const Catalogue& catalogue, const Record& record);
/// By its name, the tokens of a sequence where they are stated, and the software, whose AlexNet may be its own; nullptr
/// where the catalogue has none such.
const ModelEntry* model_of(const Catalogue& catalogue, const Record& record);
/// Tokens of a sequence that a record states.
std::optional<int> tokens_stated(const Record& record);
std::string precision_of(Mapping& mapping);
std::string wire_of(const Mapping& mapping);
std::string transport_of(const Record& record);
bool is_of_collective(const std::string& metric);
/// Throws Unmapped for what is not synchronous SGD that uses every gradient.
void refuse_other_algorithms(const Record& record);
/// One GPU alone copies its gradients to a server in host memory and waits for them.
bool copies_alone(const Mapping& mapping);
CommunicationSpec communication_of(Mapping& mapping, const ClusterSpec& cluster);
/// The task with every all-reduce that may be chosen.
Alternatives with_algorithms(const Mapping& mapping, const Task& task);
/// An iteration with the schedule that the record names: servers, sufficient factors, learners, or all-reduces.
Alternatives with_schedule(Mapping& mapping, Task task);

/// The cluster of `gpus` GPUs.
ClusterSpec cluster_of(Mapping& mapping, int gpus);
/// Computation: efficiencies, launches, jitter, and the rates given for `gpus` GPUs or one.
ComputeSpec compute_of(Mapping& mapping, int gpus, int batch);
int batch_of(Mapping& mapping);
/// Micro-steps of an update: what the global batch is over that of all GPUs, where that is a whole number.
int accumulation_of(const Mapping& mapping, int gpus, int batch);
/// The record's model, with the attention that its software has.
const model::Graph& graph_of(Mapping& mapping);
int gpus_of(Mapping& mapping);

/// The task with every algorithm that may be chosen.
Alternatives iteration_task(Mapping& mapping, int gpus, int batch);
Alternatives all_reduce_task(Mapping& mapping, int gpus, const std::vector<std::int64_t>& bytes);

/// Images/s of one GPU that a record gives, whatever its metric; none where it says something else.
std::optional<double> rate_of_one_gpu(const Record& record, const ModelEntry* model);

/// Epochs to the accuracy and their relative uncertainty: given, stated, or by the law of E(B).
void set_epochs(Mapping& mapping);
double train_samples(const Mapping& mapping);

/// Staleness, arrival times, iterations to converge and critical batches; their bounds are not calibrated.
bool is_of_workers(const Mapping& mapping);
void map_workers(Mapping& mapping);
/// The part of map_workers() that is simulated.
void map_staleness(Mapping& mapping);
/// Best group sizes, needed bandwidths and traffic, gains of rarer synchronisation; neither are theirs.
bool is_of_choices(const Mapping& mapping);
void map_choices(Mapping& mapping);

}  // namespace lockstep::sim
