#include "sim/replay/programs.hpp"

#include <algorithm>

#include "sim/collective/collectives.hpp"
#include "sim/replay/scenario_cost.hpp"

namespace lockstep::sim {

AllReduce all_reduce_of(const Scenario& scenario) {
  const CommunicationSpec& spec = scenario.communication;
  const int columns = spec.torus_columns > 0 ? spec.torus_columns : scenario.cluster.gpus_per_node;
  if (spec.all_reduce == "ring") return ring_all_reduce;
  if (spec.all_reduce == "halving-doubling") return halving_doubling_all_reduce;
  if (spec.all_reduce == "hierarchical")
    return [k = spec.group_size, m = spec.chain_slices](int gpus, std::int64_t bytes) {
      return hierarchical_all_reduce(gpus, k, bytes, m);
    };
  if (spec.all_reduce == "double-binary-tree")
    return
        [m = spec.tree_slices](int gpus, std::int64_t bytes) { return double_binary_tree_all_reduce(gpus, m, bytes); };
  if (spec.all_reduce == "torus")
    return [columns](int gpus, std::int64_t bytes) { return torus_all_reduce(gpus, std::min(columns, gpus), bytes); };
  return [k = spec.group_size, m = spec.chain_slices, threshold = spec.hybrid_threshold_bytes](int gpus,
                                                                                               std::int64_t bytes) {
    return bytes >= threshold ? ring_all_reduce(gpus, bytes) : hierarchical_all_reduce(gpus, k, bytes, m);
  };
}

// The load of the input pipeline: a node's loader serves its GPUs one after the other.
SSgd s_sgd_options(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations) {
  SSgd options;
  options.gpus = gpus;
  options.iterations = iterations;
  const InputSpec& input = scenario.input;
  const int gpus_of_node = std::min(gpus, scenario.cluster.gpus_per_node);
  if (input.samples_per_s_per_node > 0)
    options.load_s = double(batch_per_gpu) * gpus_of_node / input.samples_per_s_per_node;
  options.to_device_s =
      batch_per_gpu * input.bytes_per_sample / scenario.cluster.intra_node.pcie.gpu_link.bandwidth_bytes_per_s;
  options.prefetch = input.prefetch;
  options.overlap = scenario.communication.overlap;
  options.launch_s = scenario.communication.launch_overhead_s;
  return options;
}

namespace {

Program s_sgd_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations) {
  const ModelCost cost = model_cost(scenario, batch_per_gpu);
  const int wire_bytes = scenario.communication.wire == "fp16" ? 2 : 4;
  const std::vector<Bucket> buckets =
      fuse_gradients(scenario.model, wire_bytes, scenario.communication.fusion_threshold_bytes);
  return s_sgd(scenario.model, cost, buckets, s_sgd_options(scenario, gpus, batch_per_gpu, iterations),
               all_reduce_of(scenario));
}

}  // namespace

Program build_program(const Scenario& scenario, int gpus, int batch_per_gpu, int iterations) {
  Program program = s_sgd_program(scenario, gpus, batch_per_gpu, iterations);
  program.reduction_rate_bytes_per_s = scenario.communication.reduction_rate_bytes_per_s;
  return program;
}

}  // namespace lockstep::sim
