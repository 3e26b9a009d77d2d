#include "sim/replica/gradient_sums.hpp"

namespace lockstep::sim::replica {

bool has_gradient_arrays(const SplitJob& job) {
  return job.memory.keeps_empty_gradients || job.spec.keeping == StateKeeping::nanotron;
}

bool shards_gradients(const ParallelSpec& spec) {
  return spec.sharding == ShardingStage::zero2 || spec.sharding == ShardingStage::zero3;
}

bool adds_gradients_in_gemms(const SplitJob& job) {
  return job.memory.keeps_empty_gradients && job.spec.lora_rank == 0 && job.memory.activations.element == kHalfBytes;
}

double gradient_sum_bytes(const SplitJob& job) {
  const double sum = job.memory.parameters.gradient, gradient = kHalfBytes;
  if (shards_gradients(job.spec)) return 0;
  const bool is_added = job.micro_batches > 1 || has_gradient_arrays(job);
  if (job.memory.activations.element != gradient) return is_added ? 3 * sum : 0;
  if (!is_added) return sum == gradient ? 0 : gradient + sum;
  return job.memory.keeps_empty_gradients ? 2 * sum - gradient : gradient + 2 * sum;
}

std::vector<double> gradient_sum_seconds(const SplitJob& job, const model::Graph& graph, const DeviceCost& device) {
  std::vector<double> seconds(graph.layers.size(), 0.0);
  if (job.spec.lora_rank > 0) return seconds;
  const double passes = job.micro_batches > 1 ? 2 : 1, of_dense = gradient_sum_bytes(job);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const model::Layer& layer = graph.layers[i];
    if (device.fused_sum_bytes_per_parameter > 0 && has_product_law(layer, device)) continue;
    const model::ExpertsShape& e = layer.experts;
    const bool is_expert = layer.kind == model::LayerKind::experts;
    const double of_experts = double(e.count) * layer.in.channels * e.inner * (e.gated ? 3 : 2);
    const double bytes = is_expert ? passes * job.memory.parameters.gradient * of_experts
                                   : of_dense * static_cast<double>(layer.parameter_count());
    seconds[i] = bytes / (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
  }
  return seconds;
}

}  // namespace lockstep::sim::replica
