// Sets the algorithm of a job: which GPUs or servers exchange gradients, in which order, and in which pieces.
#include <algorithm>

#include "sim/stack/priors.hpp"
#include "sim/stack/stack_model.hpp"

namespace lockstep::sim::stack {
namespace {

constexpr std::int64_t kRingBytes = 16'000'000;  // hybrid: rings for fully-connected layers, groups for the rest
constexpr int kChainSlices = 24;                 // for reduce and broadcast within a node: enough to fill the chain
constexpr int kShardedUnits = 24;                // per model, about one for each layer of a transformer

// Matches generations by compute capability: Ada counts as Ampere, Turing as Volta, and older GPUs as Pascal. RCCL is
// NCCL with other tables, for which Hopper's stand in, limited by the bandwidth of the node's own links.
NcclGeneration nccl_generation_of(const GpuEntry& gpu) {
  if (gpu.vendor == Vendor::amd) return NcclGeneration::hopper;
  if (const auto own = find_choice<NcclGeneration>(gpu.generation)) return *own;
  if (gpu.generation == "ada" || gpu.generation == "ampere-ga102") return NcclGeneration::ampere;
  return gpu.generation == "turing" ? NcclGeneration::volta : NcclGeneration::pascal;
}

// NCCL's tables assume InfiniBand. Other networks add latency, which NCCL learns from their plugins.
double latency_beside_tables(StackModel& m) {
  if (m.network != nullptr && m.network->has_slow_plugin)
    return m.constant({"network hop/plugin/" + m.network->id, "network hop/plugin"});
  const NetworkEntry* tabled = m.catalogue.networks.with_id("ib");
  return m.network == nullptr || tabled == nullptr ? 0 : std::max(0.0, m.network->latency_s - tabled->latency_s);
}

struct AllReduceChoice {
  AllReduceKind kind;
  std::optional<NcclAlgorithm> algorithm = std::nullopt;  ///< for `nccl`; none: NCCL chooses
};

// NCCL's rings and trees leave a node through all of its NICs. AllReduceKind::ring, from GPU to GPU, leaves through
// one. Since NCCL 2.4, newer than V100, NCCL may choose more than one ring: within a node also LL, LL128 or NVLS.
// Machines whose nodes have several NICs are assumed to run such a release, even for one node.
std::optional<AllReduceChoice> choice_of_nccl(const StackModel& m, const ClusterSpec& cluster) {
  if (m.job.transport != Transport::nccl) return std::nullopt;
  const std::optional<AllReduceKind>& stated = m.job.all_reduce;
  const bool has_nics = cluster.nodes > 1 && cluster.nic.per_node > 1;
  const bool is_modern = m.gpu->has_tensor_cores() || m.job.network.count > 1;
  if (has_nics && stated == AllReduceKind::ring) return {{AllReduceKind::nccl, NcclAlgorithm::ring}};
  if (has_nics && stated == AllReduceKind::double_binary_tree) return {{AllReduceKind::nccl, NcclAlgorithm::tree}};
  const bool is_in_node = cluster.nodes == 1 && !m.job.tree_slices;
  const bool is_open = is_in_node || (!stated && (m.stack->all_reduce == "auto" || m.stack->all_reduce == "ring"));
  return is_open && (has_nics || is_modern) ? std::optional<AllReduceChoice>({AllReduceKind::nccl}) : std::nullopt;
}

AllReduceChoice all_reduce_choice(const StackModel& m, const ClusterSpec& cluster, bool is_of_training) {
  const std::optional<AllReduceKind>& stated = m.job.all_reduce;
  const std::optional<AllReduceChoice> by_nccl = choice_of_nccl(m, cluster);
  if (cluster.nodes == 1 && by_nccl) return *by_nccl;
  if (cluster.nodes == 1) return {m.job.tree_slices ? AllReduceKind::double_binary_tree : AllReduceKind::ring};
  if (stated == AllReduceKind::torus) return {*stated};
  if (m.job.transport == Transport::mpi_on_gpu || m.job.transport == Transport::mpi_on_host) {
    const bool in_groups = cluster.gpus_per_node > 1 && is_of_training;
    return {in_groups ? AllReduceKind::hierarchical : AllReduceKind::halving_doubling};
  }
  if (by_nccl) return *by_nccl;
  if (stated) return {*stated};
  return {m.stack->all_reduce == "node-hierarchical" ? AllReduceKind::hierarchical : AllReduceKind::ring};
}

std::int64_t fusion_bytes(StackModel& m) {
  if (m.job.fusion == false) return 0;
  m.note("algorithm", m.stack->facts);
  return static_cast<std::int64_t>(m.stack->fusion_bytes);
}

ParameterServerSpec servers_of(StackModel& m) {
  const bool on_host = m.job.transport == Transport::servers_on_host;
  ParameterServerSpec spec;
  spec.scheme = m.job.scheme.value_or(ServerScheme::server);
  spec.barrier = true;
  spec.shards_tensors = m.job.places_tensors;
  spec.pair_bytes = m.job.transport == Transport::kvstore ? 4'000'000 : 2'000'000;
  if (!on_host) return spec;
  spec.staging_bytes_per_s = m.constant({"host copies/" + name_of(m.job.transport)});
  spec.staging_overlaps = !m.job.is_sequential;
  return spec;
}

TheanoMpiSpec theano_mpi_of(StackModel& m) {
  TheanoMpiSpec spec;
  spec.exchange = m.job.transport == Transport::mpi_on_host ? ParameterExchange::ar
                  : m.wire == Wire::fp16                    ? ParameterExchange::asa16
                                                            : ParameterExchange::asa;
  spec.staging_bytes_per_s = prior_of("host copies").value;
  spec.host_copy_bytes_per_s = 5e9;
  spec.host_reduction_bytes_per_s = 2e9;
  if (spec.exchange == ParameterExchange::ar)
    m.assume("host copies, copies and sums of one core (GB/s)", {3, 5, 2}, "servers of 2012 to 2015");
  return spec;
}

}  // namespace

bool copies_to_server(const StackModel& m) {
  return m.job.transport == Transport::servers_on_host && m.job.is_sequential;
}

CommunicationSpec communication_of(StackModel& m, const ClusterSpec& cluster) {
  CommunicationSpec spec;
  spec.wire = m.wire;
  spec.fusion_threshold_bytes = fusion_bytes(m);
  spec.overlap = m.job.overlap.value_or(m.stack->overlap);
  spec.group_size = m.stack->id == "jizhi" ? 16 : std::max(1, cluster.gpus_per_node);
  spec.hybrid_threshold_bytes = kRingBytes;
  spec.chain_slices = kChainSlices;
  spec.torus_columns = cluster.gpus_per_node;
  if (m.job.tree_slices) spec.tree_slices = *m.job.tree_slices;
  const std::string kind = cluster.intra_node.kind == IntraNodeKind::nvswitch ? "/nvlink" : "/pcie";
  const std::string place = cluster.nodes > 1 ? "/network" : kind;
  const std::string transport = name_of(m.job.transport);
  spec.message_overhead_s = m.constant({"message/" + transport + place, "message" + place});
  spec.launch_overhead_s = m.constant({"call/" + transport + place, "call" + place});
  return spec;
}

void use_rings(CommunicationSpec& communication) {
  if (communication.all_reduce == AllReduceKind::nccl)
    communication.nccl.algorithm = NcclAlgorithm::ring;
  else
    communication.all_reduce = AllReduceKind::ring;
}

Workload with_all_reduce(StackModel& m, Workload workload) {
  const AllReduceChoice choice =
      all_reduce_choice(m, workload.scenario.cluster, workload.kind == Workload::Kind::iteration);
  CommunicationSpec& communication = workload.scenario.communication;
  communication.all_reduce = choice.kind;
  if (choice.kind != AllReduceKind::nccl) return workload;
  communication.nccl.algorithm = choice.algorithm;
  const bool is_amd = m.gpu->vendor == Vendor::amd;
  communication.nccl.in_switch = m.job.in_switch.value_or(!is_amd);  // Infinity Fabric has no switch
  if (is_amd) m.assume("collectives", "RCCL", "by NCCL's tables for Hopper, within the bandwidth of Infinity Fabric");
  communication.nccl.generation = nccl_generation_of(*m.gpu);
  communication.nccl.nic_latency_s = latency_beside_tables(m);
  communication.message_overhead_s = 0;  // included in NCCL's tables
  communication.launch_overhead_s = m.constant({"call/tables/" + m.gpu->generation, "call/tables"});
  return workload;
}

namespace {

Workload sharded(StackModel& m, Workload workload) {
  const int element_bytes = activation_bytes(m.precision);
  workload.scenario.algorithm = Algorithm::sharded;
  workload.scenario.communication.wire = element_bytes == 2 ? Wire::fp16 : Wire::fp32;
  workload.scenario.sharding.unit_bytes = workload.scenario.model.parameter_count() * element_bytes / kShardedUnits;
  workload.scenario.sharding.gathers_again = !m.job.keeps_gathered_weights;
  workload.scenario.sharding.keeps_gradients = m.job.keeps_gradients;
  m.assume("units that are gathered together", kShardedUnits, "one for each layer is usual");
  workload = with_all_reduce(m, workload);
  if (workload.scenario.communication.all_reduce != AllReduceKind::nccl) use_rings(workload.scenario.communication);
  return workload;
}

Workload by_mpi(StackModel& m, Workload workload) {
  workload.scenario.algorithm = Algorithm::theano_mpi;
  workload.scenario.communication.fusion_threshold_bytes = 0;
  workload.scenario.communication.wire = Wire::fp32;
  workload.scenario.theano_mpi = theano_mpi_of(m);
  return workload;
}

}  // namespace

Workload with_exchange(StackModel& m, Workload workload) {
  if (m.job.algorithm == Algorithm::sharded) return sharded(m, workload);
  // MPI all-reduces buffers on GPUs for most software. Theano-MPI sums on the GPU itself.
  const bool sums_by_itself = m.job.transport == Transport::mpi_on_gpu && m.stack->id == "theano";
  if (m.job.transport == Transport::mpi_on_host || sums_by_itself) return by_mpi(m, workload);
  const bool many_nodes = workload.scenario.cluster.nodes > 1;
  if (copies_to_server(m) || (many_nodes && m.job.scheme)) {
    workload.scenario.algorithm = Algorithm::parameter_server;
    workload.scenario.parameter_server = servers_of(m);
    return workload;
  }
  if (!m.job.exchange.empty() && m.job.scheme)
    m.assume("algorithm", "all-reduce of all gradients", "on one node servers save no traffic");
  m.list_assumed("algorithm", "all-reduce of all gradients", "algorithm");
  // Unless the job says otherwise, SMA and EA-SGD have one learner per GPU, synchronised every iteration.
  if (m.job.algorithm == Algorithm::sma || m.job.algorithm == Algorithm::ea_sgd) {
    workload.scenario.algorithm = *m.job.algorithm;
    workload.scenario.learners.fill = {{1, 1.0}};
    m.assume_default("learners per GPU", 1, "");
  }
  return with_all_reduce(m, workload);
}

}  // namespace lockstep::sim::stack
