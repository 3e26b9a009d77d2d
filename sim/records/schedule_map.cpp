// The algorithm of a record: who moves the gradients, in what order and how much of them at a time.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/records/mapping.hpp"
#include "sim/records/names.hpp"

namespace lockstep::sim {
namespace {

constexpr std::int64_t kRingBytes = 16'000'000;  // hybrid: rings for fully-connected layers, groups for the rest
constexpr int kChainSlices = 24;                 // of reduce and broadcast in a node: enough to fill the chain
constexpr double kTensorCores = 50e12;           // FLOP/s in fp16 from V100 on
constexpr double kUsualStaging = 3e9;            // bytes/s of copies to pageable host memory
constexpr int kShardedUnits = 24;                // of a model: about one for each layer of a transformer

bool says(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return mentions(text, part); });
}

bool has_word(const std::string& text, std::initializer_list<const char*> words) {
  const std::vector<std::string> in_text = words_of(text);
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return std::count(in_text.begin(), in_text.end(), word) > 0; });
}

bool is_sequential(const Record& record) {
  return says(record.algorithm, {"sequential", "not overlapped"});
}

// Project Adam's exchange, as Poseidon compares with; elsewhere Adam is an optimiser.
bool is_adam(const Record& record) {
  return has_word(record.algorithm, {"adam"}) && says(record.source + record.system, {"poseidon"});
}

// BytePS's servers on the workers' own machines take a ring's bytes, and NCCL adds up inside the nodes.
bool has_server_schedule(const Mapping& m) {
  const std::string& text = m.record.algorithm;
  return m.transport == "ps-host" || m.transport == "ps-gpu" || m.transport == "kvstore" ||
         says(text, {"sfb", "sufficient", "1-bit", "1 bit", "onebit"}) || is_adam(m.record);
}

std::vector<AllReduceKind> algorithms_of(const Mapping& m, const ClusterSpec& cluster) {
  const std::string& text = m.record.algorithm;
  if (cluster.nodes == 1)
    return {mentions(text, "tree reduce") ? AllReduceKind::double_binary_tree : AllReduceKind::ring};
  if (m.record.names && m.record.names->all_reduce) return {*m.record.names->all_reduce};
  if (mentions(text, "torus")) return {AllReduceKind::torus};
  if (m.transport == "mpi-gpu" || m.transport == "mpi-host")
    return {cluster.gpus_per_node > 1 && !is_of_collective(m.metric) ? AllReduceKind::hierarchical
                                                                     : AllReduceKind::halving_doubling};
  if (mentions(text, "hierarchical") && mentions(text, "hybrid")) return {AllReduceKind::hybrid};
  if (mentions(text, "hierarchical")) return {AllReduceKind::hierarchical};
  if (mentions(text, "hybrid") && m.stack->all_reduce == "hybrid") return {AllReduceKind::hybrid};
  if (says(text, {"halving", "rabenseifner", "butterfly"})) return {AllReduceKind::halving_doubling};
  if (has_word(text, {"tree", "trees"})) return {AllReduceKind::double_binary_tree};
  if (mentions(text, "ring")) return {AllReduceKind::ring};
  if (m.gpu->spec.fp16_flops > kTensorCores)  // NCCL 2.4 and later, which came after V100
    return {AllReduceKind::ring, AllReduceKind::double_binary_tree};
  return {m.stack->all_reduce == "node-hierarchical" ? AllReduceKind::hierarchical : AllReduceKind::ring};
}

std::int64_t fusion_bytes(Mapping& m) {
  const std::string& text = m.record.algorithm;
  if (mentions(text, "no fusion") || mentions(text, "per tensor")) return 0;
  if (m.metric == "comm_seconds") return 0;
  m.note("algorithm", m.stack->facts);
  return static_cast<std::int64_t>(m.stack->fusion_bytes);
}

bool overlaps(const Mapping& m) {
  if (says(m.record.algorithm, {"no overlap", "sequential", "not overlapped", "without overlap", "host-staged",
                                "alltoall", "tree reduce", "reduction tree", "1-bit"}))
    return false;
  return m.stack->overlap;
}

ServerScheme scheme_of(const Record& record) {
  const std::string& text = record.algorithm;
  if (says(text, {"1-bit", "1 bit", "onebit"})) return ServerScheme::one_bit;
  if (is_adam(record)) return ServerScheme::adam;
  if (mentions(text, "sfb") || mentions(text, "sufficient"))
    return says(text, {"hybrid", "ps"}) ? ServerScheme::best : ServerScheme::factors;
  return says(text, {"hybrid", "hybcomm"}) ? ServerScheme::best : ServerScheme::server;
}

// Poseidon and BytePS cut parameters into pairs, MXNet into parts of a million numbers; TensorFlow and naive servers
// place whole tensors.
bool places_tensors(const Mapping& m) {
  if (is_sequential(m.record) || mentions(m.record.algorithm, "tensor-granular")) return true;
  return m.stack->id == "tensorflow" && m.transport == "ps-host" && !mentions(m.record.system, "poseidon");
}

ParameterServerSpec servers_of(Mapping& m) {
  ParameterServerSpec spec;
  spec.scheme = scheme_of(m.record);
  spec.barrier = true;
  spec.shards_tensors = places_tensors(m);
  spec.pair_bytes = m.transport == "kvstore" ? 4'000'000 : 2'000'000;
  if (m.transport != "ps-host") return spec;
  spec.staging_bytes_per_s = m.constant({"host copies/" + m.transport}, kUsualStaging);
  spec.staging_overlaps = !is_sequential(m.record);
  return spec;
}

TheanoMpiSpec theano_mpi_of(Mapping& m) {
  TheanoMpiSpec spec;
  spec.exchange = m.transport == "mpi-host" ? ParameterExchange::ar
                  : m.wire == "fp16"        ? ParameterExchange::asa16
                                            : ParameterExchange::asa;
  spec.staging_bytes_per_s = kUsualStaging;
  spec.host_copy_bytes_per_s = 5e9;
  spec.host_reduction_bytes_per_s = 2e9;
  if (spec.exchange == ParameterExchange::ar)
    m.assume("host copies, copies and sums of one core (GB/s)", {3, 5, 2}, "servers of 2012 to 2015");
  return spec;
}

}  // namespace

bool is_of_collective(const std::string& metric) {
  return metric == "allreduce_seconds" || metric == "allreduce_busbw" || metric == "allreduce_algbw" ||
         metric == "alpha_s" || metric == "beta_s_per_B";
}

// What is not synchronous SGD that uses every gradient is not simulated for records.
void refuse_other_algorithms(const Record& record) {
  for (const char* word :
       {"async", "backup", "sync, n=", "sparse", "model parallel", "pipeline", "statistics", "simulated", "top-k",
        "powersgd", "local sgd", "gossip", "decentralized", "offload", "infinity", "tensor parallel", "diloco"})
    if (mentions(record.algorithm, word))
      throw Unmapped{"algorithm " + in_quotes(record.algorithm) + " is not mapped to a simulated one"};
}

std::string transport_of(const Record& record) {
  const std::string& text = record.algorithm;
  if (says(text, {"alltoall", "cuda-aware"}) || has_word(text, {"asa", "asa16", "asa32"})) return "mpi-gpu";
  if (says(text, {"mpi_allreduce", "host-staged", "osu"})) return "mpi-host";
  if (says(text, {"kvstore", "dist_device", "dist_sync"})) return "kvstore";
  if (says(text, {"ps on gpu"})) return "ps-gpu";
  const bool servers = has_word(text, {"ps", "pserver", "server", "servers", "sfb", "wfbp"});
  if (servers || says(text, {"parameter_server", "distributed_replicated", "without nccl", "hybcomm", "1-bit"}))
    return "ps-host";
  if (mentions(text, "hybrid") && mentions(record.system, "poseidon")) return "ps-host";
  if (says(text, {"baidu"})) return "baidu-ring";
  return "nccl";
}

bool copies_alone(const Mapping& m) {
  return m.transport == "ps-host" && is_sequential(m.record);
}

CommunicationSpec communication_of(Mapping& m, const ClusterSpec& cluster) {
  CommunicationSpec spec;
  spec.wire = m.wire_type();
  spec.fusion_threshold_bytes = fusion_bytes(m);
  spec.overlap = overlaps(m);
  spec.group_size = m.stack->id == "jizhi" ? 16 : std::max(1, cluster.gpus_per_node);
  spec.hybrid_threshold_bytes = kRingBytes;
  spec.chain_slices = kChainSlices;
  spec.torus_columns = cluster.gpus_per_node;
  // The trees of Caffe and FireCaffe pass the whole model on at once.
  if (says(m.record.algorithm, {"tree reduce", "reduction tree"})) spec.tree_slices = 1;
  const std::string kind = cluster.intra_node.kind == IntraNodeKind::nvswitch ? "/nvlink" : "/pcie";
  const std::string place = cluster.nodes > 1 ? "/network" : kind;
  spec.message_overhead_s = m.constant({"message/" + m.transport + place, "message" + place}, 5e-6);
  spec.launch_overhead_s = m.constant({"call/" + m.transport + place, "call" + place}, 30e-6);
  return spec;
}

Alternatives with_algorithms(const Mapping& m, const Task& task) {
  Alternatives tasks;
  for (const AllReduceKind algorithm : algorithms_of(m, task.scenario.cluster)) {
    tasks.push_back(task);
    tasks.back().scenario.communication.all_reduce = algorithm;
  }
  return tasks;
}

namespace {

// An algorithm of a name that says nothing to the mapping is taken for an all-reduce, which is said.
void note_unknown_algorithm(Mapping& m) {
  const std::string& text = m.record.algorithm;
  if (text.empty() || text == "none") return;
  if (says(text, {"all-reduce", "allreduce",   "nccl",       "horovod", "ring",  "ddp",          "ssgd",
                  "bsp",        "synchronous", "replicated", "tree",    "torus", "hierarchical", "hybrid",
                  "halving",    "mpi",         "sgd",        "kvstore", "dist_", "data parallel"}))
    return;
  m.assume("algorithm", "all-reduce of all gradients", in_quotes(text) + " is not one that is simulated");
}

bool shards_parameters(const Record& record) {
  const std::string& text = record.algorithm;
  if (says(text, {"zero-3", "zero 3", "zero3", "zero stage 3", "stage-3"})) return true;
  return says(text, {"fsdp", "fully sharded"}) && !says(text, {"shard_grad_op", "no reshard", "hybrid"});
}

}  // namespace

Alternatives with_schedule(Mapping& m, Task task) {
  if (shards_parameters(m.record)) {
    const int element_bytes = m.precision == "mixed" ? 2 : 4;
    task.scenario.algorithm = Algorithm::sharded;
    task.scenario.communication.wire = element_bytes == 2 ? Wire::fp16 : Wire::fp32;
    task.scenario.sharding.unit_bytes = task.scenario.model.parameter_count() * element_bytes / kShardedUnits;
    m.assume("units that are gathered together", kShardedUnits, "one for each layer is usual");
    return {task};
  }
  // Buffers on GPUs that MPI reduces by itself are all-reduced as elsewhere; Theano-MPI sums on the GPU.
  const bool sums_by_itself = m.transport == "mpi-gpu" && m.stack->id == "theano";
  if (m.transport == "mpi-host" || sums_by_itself) {
    task.scenario.algorithm = Algorithm::theano_mpi;
    task.scenario.communication.fusion_threshold_bytes = 0;
    task.scenario.communication.wire = Wire::fp32;
    task.scenario.theano_mpi = theano_mpi_of(m);
    return {task};
  }
  const bool many_nodes = task.scenario.cluster.nodes > 1;
  if (copies_alone(m) || (many_nodes && has_server_schedule(m))) {
    task.scenario.algorithm = Algorithm::parameter_server;
    task.scenario.parameter_server = servers_of(m);
    return {task};
  }
  note_unknown_algorithm(m);
  // One learner to a GPU, synchronised every iteration, is what a record means that does not say more.
  if (has_word(m.record.algorithm, {"sma"}) || says(m.record.algorithm, {"ea-sgd", "easgd"})) {
    task.scenario.algorithm = has_word(m.record.algorithm, {"sma"}) ? Algorithm::sma : Algorithm::ea_sgd;
    task.scenario.learners.fill = {{1, 1.0}};
    m.assume("learners per GPU", 1, "not stated");
  }
  return with_algorithms(m, task);
}

}  // namespace lockstep::sim
