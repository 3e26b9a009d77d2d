#include "sim/replica/rank_cost.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/cost/token_cost.hpp"
#include "sim/program/scenario_cost.hpp"

namespace lockstep::sim {
inline namespace replica {
namespace {

using model::Layer;
using model::LayerKind;

int divided(int whole, int parts) {
  return (whole + parts - 1) / parts;
}

model::TransformerSpec of_rank(const TransformerShape& shape, int tensor) {
  model::TransformerSpec spec = shape;
  spec.heads /= tensor;
  spec.kv_heads = std::max(1, spec.kv_heads / tensor);
  spec.inner /= tensor;
  spec.vocabulary = divided(spec.vocabulary, tensor);
  spec.mixture.inner /= tensor;
  spec.mixture.shared_inner /= tensor;
  return spec;
}

// What tensor parallelism leaves whole.
bool is_whole_of_token(const Layer& layer, int hidden) {
  switch (layer.kind) {
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
    case LayerKind::add:
    case LayerKind::dropout:
      return layer.out.channels == hidden;
    default:
      return false;
  }
}

model::Graph graph_of_rank(const SplitJob& job) {
  const ParallelSpec& spec = job.spec;
  model::Graph graph = transformer_graph(of_rank(job.shape, spec.tensor),
                                         {job.shape.sequence / spec.context, job.shape.has_fused_attention});
  for (Layer& layer : graph.layers) {
    if (layer.kind == LayerKind::experts) layer.experts.count /= spec.expert;
    if (!spec.sequence || !is_whole_of_token(layer, job.shape.hidden)) continue;
    layer.input_elements /= spec.tensor;
    layer.out.height /= spec.tensor;
  }
  return graph;
}

// The kernels are as many; what they do is divided.
double shared(double seconds, double launches_s, int ranks) {
  return launches_s + (seconds - launches_s) / ranks;
}

// Attention over keys and values of the whole sequence.
void share_attention(const SplitJob& job, const DeviceCost& device, std::vector<LayerCost>& costs) {
  if (job.spec.context == 1) return;
  const model::Graph whole =
      transformer_graph(of_rank(job.shape, job.spec.tensor), {job.shape.sequence, job.shape.has_fused_attention});
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const Layer& layer = whole.layers[i];
    if (layer.kind != LayerKind::attention) continue;
    const LayerCost cost = token_cost(layer, device, job.spec.micro_batch, true);
    const KernelCounts kernels = token_kernels(layer);
    costs[i] = {shared(cost.forward_s, kernels.forward * device.launch_s, job.spec.context),
                shared(cost.backward_s, kernels.backward * device.launch_s, job.spec.context)};
  }
}

bool has_matrix(const Layer& layer) {
  return layer.kind == LayerKind::linear || layer.kind == LayerKind::experts || layer.kind == LayerKind::router;
}

// Of a layer's forward pass, what the backward pass repeats.
double repeated(const Layer& layer, Recomputation recompute) {
  const bool is_attention = layer.kind == LayerKind::attention;
  switch (recompute) {
    case Recomputation::none:
      return 0;
    case Recomputation::selective:
      return is_attention ? 1 : 0;
    case Recomputation::alternate_matrices:
      return is_attention ? 0 : has_matrix(layer) ? 0.5 : 1;
    case Recomputation::full:
      return 1;
  }
  return 0;
}

BlockSeconds sum_of(const model::Graph& graph, const std::vector<LayerCost>& costs, const Block& block,
                    Recomputation recompute) {
  BlockSeconds sum;
  for (int i = block.first_layer; i <= block.last_layer; ++i) {
    const Layer& layer = graph.layers[at(i)];
    const LayerCost& cost = costs[at(i)];
    const double again = repeated(layer, recompute);
    sum.forward_s += cost.forward_s;
    sum.backward_s += cost.backward_s + again * cost.forward_s;
    if (has_matrix(layer)) sum.weight_gradient_s += cost.backward_s / 2;
    if (layer.kind != LayerKind::attention) continue;
    sum.attention_forward_s += cost.forward_s;
    sum.attention_backward_s += cost.backward_s;
  }
  return sum;
}

// Rates that were measured scale the roofline of the whole model.
double factor_of_rates(const Scenario& scenario, int batch) {
  if (scenario.compute.rates.empty()) return 1;
  return model_cost(scenario, batch).iteration_s() / roofline_cost(scenario, batch).iteration_s();
}

}  // namespace

RankSeconds rank_seconds(const Scenario& scenario, const SplitJob& job) {
  DeviceCost device = device_cost(scenario);
  device.cast_bytes_per_parameter = 0;
  const int batch = job.spec.micro_batch;
  const model::Graph graph = graph_of_rank(job);
  ModelCost cost = roofline_cost(graph, device, scenario.compute.optimizer, batch);
  share_attention(job, device, cost.layers);
  cost.scale(factor_of_rates(scenario, batch));
  const ModelBlocks blocks = blocks_of(graph);
  RankSeconds seconds;
  seconds.embedding = sum_of(graph, cost.layers, blocks.embedding, Recomputation::none);
  seconds.loss = sum_of(graph, cost.layers, blocks.loss, Recomputation::none);
  for (const Block& block : blocks.blocks)
    seconds.blocks.push_back(sum_of(graph, cost.layers, block, job.spec.recompute));
  return seconds;
}

double recomputed_share(const Scenario& scenario) {
  if (!scenario.parallel || scenario.parallel->recompute == Recomputation::none) return 0;
  double macs = 0;
  for (const Block& block : blocks_of(scenario.model).blocks)
    for (int i = block.first_layer; i <= block.last_layer; ++i) {
      const Layer& layer = scenario.model.layers[at(i)];
      macs += repeated(layer, scenario.parallel->recompute) * static_cast<double>(layer.macs);
    }
  return macs / (3 * static_cast<double>(scenario.model.macs()));
}

double update_of_stage_s(const Scenario& scenario, const SplitJob& job, int stage) {
  const ParallelSpec& spec = job.spec;
  RankParameters parameters;
  for (std::size_t i = at(stage); i < job.parts.size(); i += at(spec.pipeline)) {
    const RankParameters of_part = rank_parameters(job.shape, spec, job.parts[i]);
    parameters.dense += of_part.dense;
    parameters.experts += of_part.experts;
  }
  const bool is_sharded = spec.sharding != ShardingStage::none;
  const int of_dense = is_sharded ? spec.ranks_of_sharding() : 1;
  const int of_experts = is_sharded && spec.expert > 1 ? spec.expert_gradient_ranks() : of_dense;
  const DeviceCost device = device_cost(scenario);
  const model::UpdateArrays arrays = model::update_arrays(scenario.compute.optimizer);
  const double tensors = double(scenario.model.parameter_tensors()) / spec.pipeline;
  const double bytes = (parameters.dense / of_dense + parameters.experts / of_experts) * arrays.passes() * 4;
  return tensors * (arrays.has_norms() ? 2 : 1) * device.launch_s +
         bytes / (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
}

}  // namespace replica
}  // namespace lockstep::sim
