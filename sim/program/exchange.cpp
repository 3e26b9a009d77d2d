#include "sim/program/exchange.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "engine/base/index.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/collective/exchange.hpp"
#include "sim/program/learners.hpp"
#include "sim/program/nccl_system.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/program_cache.hpp"
#include "sim/program/programs.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/schedule/local_sgd.hpp"
#include "sim/schedule/sharded.hpp"
#include "sim/schedule/theano_mpi.hpp"

namespace lockstep::sim::program {
namespace {

int wire_bytes(const Scenario& scenario) {
  return bytes_of(scenario.communication.wire);
}

// Sets the options that an algorithm has in common with S-SGD.
template <class Options>
Options with_common(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations) {
  Options options;
  static_cast<SSgd&>(options) = s_sgd_options(scenario, gpus, batch_per_gpu, iterations);
  return options;
}

HostAllReduce host_all_reduce_of(const Scenario& scenario, int gpus) {
  const ClusterSpec& cluster = scenario.cluster;
  HostAllReduce host;
  host.ranks = gpus;
  host.ranks_per_node = std::min(gpus, cluster.gpus_per_node);
  const int nodes = (gpus + host.ranks_per_node - 1) / host.ranks_per_node;
  const double between_s = nodes > 1 ? 2 * cluster.nic.link.latency_s + longest_fabric_latency_s(cluster, nodes) : 0;
  host.hop_latency_s =
      scenario.communication.message_overhead_s + std::max(between_s, 2 * cluster.host.memory_latency_s);
  host.copy_bytes_per_s = scenario.theano_mpi.host_copy_bytes_per_s;
  host.reduction_bytes_per_s = scenario.theano_mpi.host_reduction_bytes_per_s;
  host.memory_bytes_per_s = cluster.host.memory_bandwidth_bytes_per_s;
  const int sockets = std::max(1, cluster.intra_node.pcie.sockets());
  host.processes_per_socket = (host.ranks_per_node + sockets - 1) / sockets;
  host.network_bytes_per_s = cluster.nic.link.bandwidth_bytes_per_s * std::max(1, cluster.nic.per_node);
  return host;
}

}  // namespace

AllReduce nccl_operation(const Scenario& scenario, NcclOperation operation) {
  const auto planners = std::make_shared<std::map<int, NcclPlanner>>();  // by number of GPUs
  return [cluster = scenario.cluster, nccl = scenario.communication.nccl, operation, planners](int gpus,
                                                                                               std::int64_t bytes) {
    auto known = planners->find(gpus);
    if (known == planners->end()) known = planners->emplace(gpus, nccl_system(cluster, nccl, gpus)).first;
    return known->second.plan(operation, bytes);
  };
}

std::vector<Bucket> buckets_of(const Scenario& scenario) {
  return fuse_gradients(scenario.model, wire_bytes(scenario), scenario.communication.bucket_bytes(),
                        scenario.communication.first_bucket_bytes());
}

namespace {

Program local_sgd_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations, ProgramCache& cache) {
  auto options = with_common<LocalSgd>(scenario, gpus, batch_per_gpu, iterations);
  options.period = scenario.local_sgd.period;
  options.group_gpus = std::min(gpus, scenario.local_sgd.group_gpus);
  const bool is_nccl = scenario.communication.all_reduce == AllReduceKind::nccl;
  return local_sgd(scenario.model, cache.find_model_cost(scenario, batch_per_gpu), buckets_of(scenario), options,
                   cache.remember_all_reduce(scenario),
                   is_nccl ? nccl_operation(scenario, NcclOperation::all_gather) : AllReduce(all_gather));
}

Program sharded_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations, ProgramCache& cache) {
  auto options = with_common<Sharded>(scenario, gpus, batch_per_gpu, iterations);
  options.units_ahead = scenario.communication.overlap ? scenario.sharding.units_ahead : 0;
  options.gathers_again = scenario.sharding.gathers_again;
  options.keeps_gradients = scenario.sharding.keeps_gradients;
  const bool is_nccl = scenario.communication.all_reduce == AllReduceKind::nccl;
  return sharded(scenario.model, cache.find_model_cost(scenario, batch_per_gpu),
                 sharding_units(scenario.model, wire_bytes(scenario), scenario.sharding.unit_bytes), options,
                 is_nccl ? nccl_operation(scenario, NcclOperation::all_gather) : AllReduce(all_gather),
                 is_nccl ? nccl_operation(scenario, NcclOperation::reduce_scatter) : AllReduce(reduce_scatter));
}

Program theano_mpi_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations, ProgramCache& cache) {
  auto options = with_common<TheanoMpi>(scenario, gpus, batch_per_gpu, iterations);
  options.exchange = scenario.theano_mpi.exchange;
  options.staging_bytes_per_s = scenario.theano_mpi.staging_bytes_per_s;
  options.pass_bytes_per_s = scenario.cluster.gpu.memory_bandwidth_bytes_per_s * scenario.compute.memory_efficiency;
  const HostAllReduce host = host_all_reduce_of(scenario, gpus);
  const TheanoMpiPlans plans{[host](int, std::int64_t bytes) { return plan_host_all_reduce(host, bytes); }, all_to_all,
                             all_gather};
  return theano_mpi(scenario.model, cache.find_model_cost(scenario, batch_per_gpu), buckets_of(scenario), options,
                    plans);
}

// Collectives that run as kernels on the GPUs slow down compute work. Copies by the host's processors do not.
void slow_down_compute(const Scenario& scenario, int batch_per_gpu, Program& program) {
  const OverlapSlowdown slowdown = overlap_slowdown(scenario);
  if (!slowdown) return;
  for (Work& work : program.work)
    if (work.kind == Work::Kind::collective && program.plans[to_index(work.plan)].bytes > 0)
      work.slows = slowdown.at(batch_per_gpu, static_cast<double>(program.plans[to_index(work.plan)].bytes));
}

}  // namespace

Program build_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations, ProgramCache* shared) {
  ProgramCache own;
  ProgramCache& cache = shared != nullptr ? *shared : own;
  Program program;
  switch (scenario.algorithm) {
    case Algorithm::s_sgd:
      program = s_sgd(scenario.model, cache.find_model_cost(scenario, batch_per_gpu), buckets_of(scenario),
                      s_sgd_options(scenario, gpus, batch_per_gpu, iterations), cache.remember_all_reduce(scenario));
      break;
    case Algorithm::sma:
    case Algorithm::ea_sgd:
      program = sma(sma_cost(scenario, batch_per_gpu), sma_options(scenario, gpus, batch_per_gpu, iterations),
                    cache.remember_all_reduce(scenario));
      break;
    case Algorithm::parameter_server:
      program = parameter_server_program(scenario, gpus, batch_per_gpu, iterations);
      break;
    case Algorithm::local_sgd:
      program = local_sgd_program(scenario, gpus, batch_per_gpu, iterations, cache);
      break;
    case Algorithm::sharded:
      program = sharded_program(scenario, gpus, batch_per_gpu, iterations, cache);
      break;
    case Algorithm::theano_mpi:
      program = theano_mpi_program(scenario, gpus, batch_per_gpu, iterations, cache);
      break;
    case Algorithm::backup_workers:
    case Algorithm::async_sgd:
    case Algorithm::async_easgd:
      throw std::logic_error("no program of " + name_of(scenario.algorithm));  // predicted by workers_point.hpp
  }
  const bool has_kernels =
      scenario.algorithm == Algorithm::s_sgd || scenario.algorithm == Algorithm::sharded || scenario.trains_learners();
  if (has_kernels) slow_down_compute(scenario, batch_per_gpu, program);
  program.reduction_rate_bytes_per_s = scenario.communication.reduction_rate_bytes_per_s;
  return program;
}

}  // namespace lockstep::sim::program
