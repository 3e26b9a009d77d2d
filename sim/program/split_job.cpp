#include "sim/program/split_job.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/split/software_memory.hpp"

namespace lockstep::sim::program {
namespace {

// Multiply-adds per token of a layer and of the loss, without those of attention's scores, as nanotron counts them
// (nanotron/models/llama.py, get_block_compute_costs()).
BlockCosts costs_of(const TransformerShape& shape) {
  const double hidden = shape.hidden, matrices = shape.gated ? 3 : 2;
  const double layer = 4 * hidden * static_cast<double>(shape.query_width()) + matrices * hidden * shape.inner;
  return {0, std::vector<double>(to_index(shape.layers), layer), hidden * static_cast<double>(shape.vocabulary)};
}

std::vector<ModelPart> divided_layers(const TransformerShape& shape, StagePartition rule, int stages, int chunks) {
  if (rule == StagePartition::by_cost) return cumulative_partition(costs_of(shape), stages * chunks);
  if (shape.layers % (stages * chunks) == 0) return partition(shape.layers, stages, chunks);
  const BlockCosts alike{1, std::vector<double>(static_cast<std::size_t>(shape.layers), 1.0), 1};
  return balanced_partition(alike, stages, chunks);
}

// Returns the parts of the pipeline; chunk c of stage s has the index c p + s.
std::vector<ModelPart> parts_of(const TransformerShape& shape, const ParallelSpec& spec) {
  const ChunkOrder order = chunk_order_of(schedule_of_pipeline(spec));
  const int chunks = order == ChunkOrder::mirrored ? 1 : spec.chunks();
  std::vector<ModelPart> parts = divided_layers(shape, spec.partition, spec.pipeline, chunks);
  if (order == ChunkOrder::looped) return parts;
  const std::size_t stages = to_index(spec.pipeline);
  if (order == ChunkOrder::mirrored)
    parts.insert(parts.end(), parts.rbegin(), parts.rend());
  else
    std::reverse(parts.begin() + spec.pipeline, parts.end());
  for (const std::size_t end : {std::size_t{0}, stages - 1})
    if (parts[end].has_embedding != parts[stages + end].has_embedding)
      parts[end].has_both_ends_on_stage = parts[stages + end].has_both_ends_on_stage = true;
  return parts;
}

TrafficOptions traffic_of(const Scenario& scenario, const ParallelSpec& spec) {
  TrafficOptions options;
  options.activation_bytes = activation_bytes(scenario.compute.precision);
  options.weight_bytes = activation_bytes(scenario.compute.precision);
  // With weights in eight bits that GEMMs read, the layers' precision is eight bits, too.
  if (is_quantised(spec.frozen_weights))
    options.frozen_share = std::min(1.0, quantised_bytes(spec.frozen_weights) / options.weight_bytes);
  else if (spec.frozen_weights != FrozenWeights::whole)
    options.weight_bytes = quantised_bytes(spec.frozen_weights);
  options.gradient_bytes = bytes_of(scenario.communication.wire);
  return options;
}

SplitMemoryOptions memory_of(const Scenario& scenario, const ParallelSpec& spec) {
  SoftwareMemory software;
  software.precision = scenario.compute.precision;
  software.optimizer = scenario.compute.optimizer;
  software.kept = scenario.compute.kept;
  software.sent_gradient_bytes = bytes_of(scenario.communication.wire);
  software.has_half_state = scenario.compute.half_parameters;
  software.has_loss_in_single = scenario.compute.loss_bytes_per_logit > 0;
  software.has_loss_in_chunks = scenario.compute.chunks_loss;
  software.reserved_bytes = scenario.cluster.gpu.reserved_bytes;
  return memory_options(spec, software);
}

// Counts each kind of layer once.
template <typename Count>
std::vector<RankParameters> count_by_layer(const TransformerShape& shape, const ParallelSpec& spec, Count&& count) {
  std::vector<RankParameters> layers;
  for (int layer = 0; layer < shape.layers; ++layer)
    layers.push_back(layer > 0 && shape.parts_of(layer) == shape.parts_of(layer - 1) ? layers.back()
                                                                                     : count(shape, spec, layer));
  return layers;
}

}  // namespace

ParallelSpec SplitJob::spec_of(int layer) const {
  if (spec.recompute_layers == 0) return spec;
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const ModelPart& one) {
    return layer >= one.first_block && layer < one.first_block + one.blocks;
  });
  return part == parts.end() ? spec : spec_of_layer(spec, *part, layer);
}

RankParameters SplitJob::trained_parameters(const ModelPart& part) const {
  return split::trained_parameters(shape, spec, part, trained_layers);
}

std::vector<StageOps> SplitJob::ops() const {
  return pipeline_ops(schedule_of_pipeline(spec), pipeline());
}

SplitJob split_job(const Scenario& scenario, int gpus) {
  if (!scenario.model.transformer) throw InputError("/model: no transformer by its numbers, which a split goes by");
  SplitJob job;
  job.spec = scenario.parallel_at(gpus);
  job.shape = TransformerShape(scenario.model.transformer->spec, scenario.model.transformer->job);
  check_divisible(job.shape, job.spec);
  job.micro_batches = micro_batches(job.spec, static_cast<int>(global_batch_of(job.spec, job.spec.data)));
  job.parts = parts_of(job.shape, job.spec);
  job.traffic = traffic_of(scenario, job.spec);
  job.gathered_layers = count_by_layer(job.shape, job.spec, rank_layer_parameters);
  job.trained_layers =
      job.spec.lora_rank > 0 ? count_by_layer(job.shape, job.spec, trained_layer_parameters) : job.gathered_layers;
  for (RankParameters& layer : job.gathered_layers) layer = layer.scaled(job.traffic.frozen_share);
  job.memory = memory_of(scenario, job.spec);
  return job;
}

}  // namespace lockstep::sim::program
