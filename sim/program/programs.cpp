#include "sim/program/programs.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/base/index.hpp"
#include "engine/base/text.hpp"
#include "sim/collective/collectives.hpp"
#include "sim/program/exchange.hpp"
#include "sim/program/learners.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/scenario/measured_all_reduce.hpp"

namespace lockstep::sim::program {
namespace {

constexpr double kMostTransfers = 1e8;  // of a collective's plan; more take tens of seconds for each bucket of a model

// In chains and trees, every slice crosses every hop separately, in both directions.
void check_transfers(int gpus, int slices, const char* key) {
  const double transfers = 2.0 * gpus * slices;
  if (transfers <= kMostTransfers) return;
  throw std::runtime_error("an all-reduce in " + std::to_string(slices) + " slices has about " +
                           short_number(transfers) + " messages, more than " + short_number(kMostTransfers) +
                           "; allowed: fewer slices (" + key + ")");
}

// Takes the measured time. The transfers are those of a ring.
AllReduce profile_all_reduce(const Scenario& scenario) {
  return [measured = AllReduceOfProfile(scenario)](int gpus, std::int64_t bytes) {
    Plan plan{"profile", gpus, bytes, {}};
    if (gpus == 1) return plan;
    const calib::LineFit& line = measured.find_fit(gpus)->line;
    const double latency_s = line.at(0), seconds = line.at(double(bytes));
    plan.call = CallTime{std::min(latency_s, seconds), std::max(seconds - latency_s, 1e-12)};
    plan.phases.edit().push_back(ring_phase(0, 1, gpus, 2 * (gpus - 1) * chunk_bytes(bytes, gpus), 1, false));
    return plan;
  };
}

}  // namespace

AllReduce all_reduce_of(const Scenario& scenario) {
  const CommunicationSpec& spec = scenario.communication;
  const int columns = spec.torus_columns > 0 ? spec.torus_columns : scenario.cluster.gpus_per_node;
  switch (spec.all_reduce) {
    case AllReduceKind::ring:
      return ring_all_reduce;
    case AllReduceKind::profile:
    case AllReduceKind::profile_average:
      return profile_all_reduce(scenario);
    case AllReduceKind::nccl:
      return nccl_operation(scenario, NcclOperation::all_reduce);
    case AllReduceKind::halving_doubling:
      return halving_doubling_all_reduce;
    case AllReduceKind::hierarchical:
      return [k = spec.group_size, m = spec.chain_slices](int gpus, std::int64_t bytes) {
        check_transfers(gpus, m, "/communication/chain_slices");
        return hierarchical_all_reduce(gpus, k, bytes, m);
      };
    case AllReduceKind::tree:
      return tree_all_reduce;
    case AllReduceKind::double_binary_tree:
      return [m = spec.tree_slices](int gpus, std::int64_t bytes) {
        check_transfers(gpus, m, "/communication/tree_slices");
        return double_binary_tree_all_reduce(gpus, m, bytes);
      };
    case AllReduceKind::torus:
      return [columns](int gpus, std::int64_t bytes) { return torus_all_reduce(gpus, std::min(columns, gpus), bytes); };
    case AllReduceKind::hybrid:
      break;
  }
  return [k = spec.group_size, m = spec.chain_slices, threshold = spec.hybrid_threshold_bytes](int gpus,
                                                                                               std::int64_t bytes) {
    check_transfers(gpus, m, "/communication/chain_slices");
    return bytes >= threshold ? ring_all_reduce(gpus, bytes) : hierarchical_all_reduce(gpus, k, bytes, m);
  };
}

// A node's loader serves its GPUs one after the other.
Loading loading_of(const Scenario& scenario, int gpus, int batch_per_gpu, double samples_per_s_per_node) {
  const InputSpec& input = scenario.input;
  const int gpus_of_node = std::min(gpus, scenario.cluster.gpus_per_node);
  Loading loading;
  if (samples_per_s_per_node > 0) loading.load_s = double(batch_per_gpu) * gpus_of_node / samples_per_s_per_node;
  if (input.reads_over_links())
    loading.read_bytes = std::llround(batch_per_gpu * input.loading.file_bytes_per_sample);
  else
    loading.load_s += input.loading.read_s(batch_per_gpu, gpus_of_node, gpus);
  loading.blocking = input.loading.blocking;
  if (input.is_on_links)
    loading.to_device_bytes = std::llround(batch_per_gpu * input.bytes_per_sample);
  else
    loading.to_device_s =
        batch_per_gpu * input.bytes_per_sample / scenario.cluster.intra_node.pcie.gpu_link.bandwidth_bytes_per_s;
  loading.prefetch = input.prefetch;
  return loading;
}

InputHosts input_hosts_of(const Scenario& scenario) {
  const InputSpec& input = scenario.input;
  return {input.is_on_links, input.reads_over_links() ? input.loading.nfs_bandwidth_bytes_per_s : 0};
}

SSgd s_sgd_options(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations) {
  SSgd options;
  static_cast<Loading&>(options) = loading_of(scenario, gpus, batch_per_gpu, scenario.input.samples_per_s_per_node);
  options.gpus = gpus;
  options.iterations = iterations;
  options.accumulation = scenario.communication.accumulation;
  options.overlap = scenario.communication.overlap;
  options.launch_s = scenario.communication.launch_overhead_s;
  options.bucket_copy_bytes_per_s = scenario.communication.bucket_copy_bytes_per_s;
  return options;
}

}  // namespace lockstep::sim::program
