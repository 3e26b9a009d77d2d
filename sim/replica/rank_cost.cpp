#include "sim/replica/rank_cost.hpp"

#include <algorithm>

#include "engine/base/index.hpp"
#include "sim/cost/token_cost.hpp"
#include "sim/cost/utilisation.hpp"
#include "sim/program/scenario_cost.hpp"
#include "sim/replica/activation_offload.hpp"
#include "sim/replica/adapters.hpp"
#include "sim/replica/gradient_sums.hpp"
#include "sim/replica/recomputation.hpp"

namespace lockstep::sim::replica {
namespace {

using model::Layer;
using model::LayerKind;

int divided(int whole, int parts) {
  return (whole + parts - 1) / parts;
}

model::TransformerSpec of_rank(const model::TransformerSpec& whole, const ParallelSpec& split) {
  const int tensor = split.tensor;
  model::TransformerSpec spec = whole;
  spec.heads /= tensor;
  spec.kv_heads = std::max(1, spec.kv_heads / tensor);
  spec.inner /= tensor;
  spec.vocabulary = divided(spec.vocabulary, tensor);
  spec.mixture.inner /= split.tensor_of_experts();
  spec.mixture.shared_inner /= tensor;
  spec.recurrence.heads /= tensor;
  spec.recurrence.groups = std::max(1, spec.recurrence.groups / tensor);
  return spec;
}

// True for outputs that tensor parallelism leaves whole.
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

model::Graph graph_of_rank(const SplitJob& job, const model::TransformerSpec& whole) {
  const ParallelSpec& spec = job.spec;
  model::Graph graph =
      transformer_graph(of_rank(whole, spec), {job.shape.sequence / spec.context, job.shape.has_fused_attention});
  for (Layer& layer : graph.layers.edit()) {
    if (layer.kind == LayerKind::experts) {
      layer.experts.count /= spec.expert;
      // A tensor rank has a part of the sequence, and sends its own rows.
      if (spec.folds_experts()) layer.in.height /= spec.tensor;
    }
    if (!spec.sequence || !is_whole_of_token(layer, job.shape.hidden)) continue;
    layer.input_elements /= spec.tensor;
    layer.out.height /= spec.tensor;
  }
  if (spec.lora_rank > 0) return with_adapters(graph, spec.lora_rank, spec.lora_target);
  return graph;
}

// The number of kernels stays the same; their work is divided by the ranks.
double shared(double seconds, double launches_s, int ranks) {
  return launches_s + (seconds - launches_s) / ranks;
}

// After a step of the ring its output is added to that of earlier steps. Both are read and the sum is written, in
// single precision (Liu et al. 2023, arXiv:2310.01889, blockwise softmax). The backward pass does the same with the
// queries' gradients.
double merge_s(const Layer& attention, const DeviceCost& device, int batch) {
  const double outputs = double(batch) * attention.in.height * attention.in.width * attention.attention.heads *
                         attention.attention.value_dim;
  return 3 * 4 * outputs / (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
}

// Adds the cost of attention over keys and values of the whole sequence.
void share_attention(const SplitJob& job, const model::TransformerSpec& spec, const model::Graph& graph,
                     const DeviceCost& device, std::vector<LayerCost>& costs) {
  if (job.spec.context == 1) return;
  const model::Graph whole =
      transformer_graph(of_rank(spec, job.spec), {job.shape.sequence, job.shape.has_fused_attention});
  std::size_t i = 0;
  for (const Layer& layer : whole.layers) {
    if (layer.kind != LayerKind::attention) continue;
    while (graph.layers[i].kind != LayerKind::attention) ++i;
    if (device.kernels != nullptr) {
      // The ring has a step for each part of the keys. Its efficiency depends on its own length; together the steps
      // compute the rank's part of the pairs.
      const double pairs = static_cast<double>(layer.attention.seen_pairs(job.shape.sequence)) / job.spec.context;
      const Layer& own = graph.layers[i];
      const double steps = pairs / static_cast<double>(own.attention.seen_pairs(own.attention.keys));
      const double merged_s = (job.spec.context - 1) * merge_s(own, device, job.spec.micro_batch);
      costs[i].forward_s = steps * costs[i].forward_s + merged_s;
      costs[i].backward_s = steps * costs[i].backward_s + merged_s;
      ++i;
      continue;
    }
    const LayerCost cost = token_cost(layer, device, job.spec.micro_batch, true);
    const KernelCounts kernels = token_kernels(layer, device);
    costs[i++] = {shared(cost.forward_s, kernels.forward * device.launch_s, job.spec.context),
                  shared(cost.backward_s, kernels.backward * device.launch_s, job.spec.context)};
  }
}

// The work of experts grows with their rows. Their weights are read only once, but counted as if they grew as well.
void load_experts(const SplitJob& job, const model::Graph& graph, const DeviceCost& device,
                  std::vector<LayerCost>& costs) {
  const double load = job.spec.expert_load();
  if (load == 1) return;
  const auto loaded = [&](double seconds, int kernels) {
    const double launches_s = kernels * device.launch_s;
    return launches_s + (seconds - launches_s) * load;
  };
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (graph.layers[i].kind != LayerKind::experts) continue;
    const KernelCounts kernels = token_kernels(graph.layers[i], device);
    costs[i].forward_s = loaded(costs[i].forward_s, kernels.forward);
    costs[i].backward_s = loaded(costs[i].backward_s, kernels.backward);
  }
}

void order_rows(const SplitJob& job, const model::Graph& graph, const DeviceCost& device,
                std::vector<LayerCost>& costs) {
  const bool is_fused = job.spec.expert_dispatch != ExpertDispatch::all_to_all;  // with the experts' permutation
  if (job.spec.expert == 1 || is_fused) return;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    if (layer.kind != LayerKind::experts || layer.experts.count == 1) continue;
    const LayerCost more = row_order_cost(layer, device, job.spec.micro_batch, job.spec.expert_load());
    costs[i].forward_s += more.forward_s;
    costs[i].backward_s += more.backward_s;
  }
}

// Recomputes only the non-linearity of experts: reads the gate and the other half, writes their product.
void repeat_expert_activations(const SplitJob& job, const model::Graph& graph, const DeviceCost& device,
                               std::vector<LayerCost>& costs) {
  if (!job.spec.recomputes(RecomputeModule::activation) || job.spec.recomputes(RecomputeModule::moe)) return;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    if (layer.kind != LayerKind::experts) continue;
    const model::ExpertsShape& e = layer.experts;
    const double rows =
        double(job.spec.micro_batch) * layer.in.height * job.shape.mixture.active * job.spec.expert_load();
    costs[i].backward_s += rows * e.inner * (e.gated ? 3 : 2) * device.activation_bytes /
                           (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
  }
}

// Shares of the passes in which the GPU waits for the processor that launches kernels. They are the same for all layers
// (wait_for_host() in layer_cost.cpp).
struct WaitingShares {
  double forward = 0, backward = 0;
};

WaitingShares waiting_shares(const ModelCost& cost, const ModelCost& without_host) {
  const auto share = [](double all_s, double busy_s) { return all_s > busy_s ? 1 - busy_s / all_s : 0.0; };
  return {share(cost.forward_s(), without_host.forward_s()), share(cost.backward_s(), without_host.backward_s())};
}

// `sums_s`: gradient_sum_seconds(), in addition to `costs`. `repeated`: share of each layer's forward pass that the
// backward pass recomputes. `is_trained`: gradients of weights are needed, not only those of adapters.
BlockSeconds sum_of(const model::Graph& graph, const std::vector<LayerCost>& costs, const std::vector<double>& sums_s,
                    const WaitingShares& waiting, const Block& block, const std::vector<double>& repeated,
                    bool is_trained) {
  BlockSeconds sum;
  for (int i = block.first_layer; i <= block.last_layer; ++i) {
    const Layer& layer = graph.layers[to_index(i)];
    const LayerCost& cost = costs[to_index(i)];
    const double again = repeated[to_index(i - block.first_layer)];
    const double sum_s = sums_s[to_index(i)], of_weights = sum_s + (has_matrix(layer) ? cost.backward_s / 2 : 0);
    const bool is_frozen = !is_trained && !is_of_adapter(layer);
    const double backward_s = cost.backward_s + sum_s - (is_frozen ? of_weights : 0);
    sum.forward_s += cost.forward_s;
    sum.backward_s += backward_s + again * cost.forward_s;
    sum.waiting_forward_s += waiting.forward * cost.forward_s;
    sum.waiting_backward_s += waiting.backward * backward_s + waiting.forward * again * cost.forward_s;
    if (!is_frozen) sum.weight_gradient_s += of_weights;
    if (has_matrix(layer)) {
      sum.products_forward_s += cost.forward_s;
      sum.products_backward_s += backward_s;
      sum.products_s += cost.forward_s + backward_s + again * cost.forward_s;
    }
    if (layer.kind != LayerKind::attention) continue;
    sum.attention_s += cost.forward_s + backward_s + again * cost.forward_s;
    sum.attention_forward_s += cost.forward_s;
    sum.attention_backward_s += cost.backward_s + sum_s;
  }
  return sum;
}

// Before a pass multiplies a quantised matrix, it is made whole. Half of a matrix's backward pass counts as gradients
// of its weights, which frozen ones do not have (sum_of()).
void dequantise_frozen(const SplitJob& job, const model::Graph& graph, const ModelBlocks& blocks,
                       const DeviceCost& device, std::vector<LayerCost>& costs) {
  const FrozenWeights frozen = job.spec.frozen_weights;
  if (!is_quantised(frozen)) return;
  const Dequantisation steps = dequantisation_of(frozen);
  for (const Block& block : blocks.blocks)
    for (int i = block.first_layer; i <= block.last_layer; ++i) {
      const Layer& layer = graph.layers[to_index(i)];
      if (!has_matrix(layer) || is_of_adapter(layer)) continue;
      const double seconds =
          steps.kernels * device.launch_s + steps.bytes * static_cast<double>(layer.parameter_count()) /
                                                (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
      costs[to_index(i)].forward_s += seconds;
      if (!steps.keeps_for_backward) costs[to_index(i)].backward_s += 2 * seconds;
    }
}

// Number of layers of the whole model that each layer of the graph represents.
std::vector<int> count_layer_repeats(const model::Graph& graph, const ModelBlocks& blocks,
                                     const model::DistinctLayers& layers) {
  std::vector<int> of_block(blocks.blocks.size(), 0), repeats(graph.layers.size(), 1);
  for (const std::size_t kind : layers.kind_of_layer) ++of_block.at(kind);
  for (std::size_t b = 0; b < of_block.size(); ++b)
    for (int i = blocks.blocks[b].first_layer; i <= blocks.blocks[b].last_layer; ++i)
      repeats[to_index(i)] = of_block[b];
  return repeats;
}

// Measured rates scale the roofline of the whole model.
double factor_of_measurements(const Scenario& scenario, int batch) {
  if (scenario.compute.rates.empty()) return scenario.compute.time_factor;
  return model_cost(scenario, batch).iteration_s() / roofline_cost(scenario, batch).iteration_s();
}

RankParameters trained_parameters(const SplitJob& job, int stage) {
  RankParameters parameters;
  for (std::size_t i = to_index(stage); i < job.parts.size(); i += to_index(job.spec.pipeline))
    parameters += job.trained_parameters(job.parts[i]);
  return parameters;
}

// Number of parameters whose optimizer state a rank of the stage keeps.
double kept_parameters(const SplitJob& job, int stage) {
  const ParallelSpec& spec = job.spec;
  const RankParameters parameters = trained_parameters(job, stage);
  const bool is_sharded = spec.sharding != ShardingStage::none;
  const int of_dense = is_sharded ? spec.ranks_of_sharding() : 1;
  const int of_experts = is_sharded && spec.expert > 1 ? spec.expert_gradient_ranks() : of_dense;
  return parameters.dense / of_dense + parameters.experts / of_experts;
}

// Returns the seconds of a micro-batch's backward pass through the stage's blocks.
double last_backward_s(const SplitJob& job, const RankSeconds& seconds, int stage) {
  double sum = 0;
  for (std::size_t i = to_index(stage); i < job.parts.size(); i += to_index(job.spec.pipeline))
    for (int block = job.parts[i].first_block; block < job.parts[i].first_block + job.parts[i].blocks; ++block)
      sum += seconds.blocks[to_index(block)].backward_s;
  return sum;
}

// Returns the sockets of a node. If its PCIe switches are not described, a socket has four GPUs, as in DGX and HGX
// servers.
int sockets_of(const ClusterSpec& cluster) {
  const int described = cluster.intra_node.pcie.sockets();
  return described > 0 ? described : std::max(1, cluster.gpus_per_node / 4);
}

double update_on_host_s(const Scenario& scenario, const SplitJob& job, double parameters, double backward_s) {
  const ClusterSpec& cluster = scenario.cluster;
  const double to_host = cluster.host_link_bytes_per_s();
  const double host_memory = cluster.host.memory_bandwidth_bytes_per_s * sockets_of(cluster);
  const int ranks = std::min(cluster.gpus_per_node, job.spec.gpus_of_replica() * job.spec.data);
  const double gradient = job.traffic.gradient_bytes, weight = job.traffic.weight_bytes;
  const double arrays =
      model::update_arrays(scenario.compute.optimizer).passes() * scenario.compute.update_element_bytes() -
      describe_device(scenario).saved_update_bytes;
  const double gradients_s = std::max(0.0, gradient * parameters / to_host - backward_s);
  const double update_s = (arrays + gradient + weight) * parameters * ranks / host_memory;
  return gradients_s + std::max(update_s, weight * parameters / to_host);
}

}  // namespace

RecomputedLayersKey layers_key(const ParallelSpec& spec) {
  if (spec.recompute_layers == 0) return {};
  return {spec.recompute_layers, spec.pipeline, spec.chunks(), static_cast<int>(spec.schedule)};
}

RankSecondsOfSplits::Key RankSecondsOfSplits::key_of(const SplitJob& job) {
  const ParallelSpec& s = job.spec;
  return {s.tensor,
          s.context,
          s.expert,
          s.tensor_of_experts(),
          s.folds_experts(),
          s.sequence,
          s.lora_rank,
          s.lora_target,
          s.expert_load(),
          s.micro_batch,
          s.recompute,
          s.recompute_modules,
          layers_key(s),
          job.micro_batches > 1,
          job.memory.parameters.gradient,
          gradient_sum_bytes(job),
          s.frozen_weights,
          s.offload_layers,
          s.expert_dispatch};
}

std::shared_ptr<const RankSeconds> RankSecondsOfSplits::at(const SplitJob& job) {
  std::shared_ptr<const RankSeconds>& known = all_[key_of(job)];
  if (!known) known = std::make_shared<const RankSeconds>(rank_seconds(scenario_, job));
  return known;
}

RankSeconds rank_seconds(const Scenario& scenario, const SplitJob& job) {
  DeviceCost device = describe_device(scenario);
  device.cast_bytes_per_parameter = 0;
  device.fused_sum_bytes_per_parameter = adds_gradients_in_gemms(job) ? gradient_sum_bytes(job) : 0;
  const int batch = job.spec.micro_batch;
  const model::DistinctLayers layers = find_distinct_layers(job.shape);
  const model::Graph graph = graph_of_rank(job, layers.spec);
  const ModelBlocks blocks = blocks_of(graph);
  const std::vector<int> repeats = count_layer_repeats(graph, blocks, layers);
  ModelCost cost = roofline_cost(graph, device, scenario.compute.optimizer, batch, repeats);
  WaitingShares waiting;
  if (device.host_launch_s > 0) {
    DeviceCost alone = device;
    alone.host_launch_s = 0;
    waiting = waiting_shares(cost, roofline_cost(graph, alone, scenario.compute.optimizer, batch, repeats));
  }
  share_attention(job, layers.spec, graph, device, cost.layers);
  load_experts(job, graph, device, cost.layers);
  order_rows(job, graph, device, cost.layers);
  repeat_expert_activations(job, graph, device, cost.layers);
  dequantise_frozen(job, graph, blocks, device, cost.layers);
  const double factor = factor_of_measurements(scenario, batch);
  cost.scale(factor);
  std::vector<double> sums_s = gradient_sum_seconds(job, graph, device);
  for (double& sum_s : sums_s) sum_s *= factor;
  RankSeconds seconds;
  const bool is_trained = job.spec.lora_rank == 0;
  const auto nothing_repeated = [](const Block& block) {
    return std::vector<double>(to_index(block.last_layer - block.first_layer + 1), 0.0);
  };
  seconds.embedding =
      sum_of(graph, cost.layers, sums_s, waiting, blocks.embedding, nothing_repeated(blocks.embedding), is_trained);
  if (!is_trained) seconds.embedding.backward_s = 0;  // layers before it need no gradient
  seconds.loss = sum_of(graph, cost.layers, sums_s, waiting, blocks.loss, nothing_repeated(blocks.loss), is_trained);
  // Each kind of block has two costs: with activations recomputed as the split says, and with all activations kept.
  std::vector<BlockSeconds> of_kind, of_kept_kind;
  for (const Block& block : blocks.blocks) {
    of_kind.push_back(sum_of(graph, cost.layers, sums_s, waiting, block,
                             repeated_shares(graph, block, job.spec, job.shape.hidden), is_trained));
    of_kept_kind.push_back(sum_of(graph, cost.layers, sums_s, waiting, block, nothing_repeated(block), is_trained));
  }
  for (std::size_t layer = 0; layer < layers.kind_of_layer.size(); ++layer) {
    const bool is_repeated = job.spec_of(static_cast<int>(layer)).recompute == job.spec.recompute;
    seconds.blocks.push_back((is_repeated ? of_kind : of_kept_kind)[layers.kind_of_layer[layer]]);
  }
  wait_for_offload(scenario.cluster, job, seconds);
  return seconds;
}

std::vector<double> repeated_shares(const model::Graph& graph, const ParallelSpec& spec) {
  std::vector<double> shares(graph.layers.size(), 0.0);
  for (const Block& block : blocks_of(graph).blocks) {
    const std::vector<double> of_block = repeated_shares(graph, block, spec, graph.transformer->spec.hidden);
    std::copy(of_block.begin(), of_block.end(), shares.begin() + block.first_layer);
  }
  return shares;
}

double recomputed_share(const Scenario& scenario) {
  if (!scenario.parallel || scenario.parallel->recompute == Recomputation::none) return 0;
  const model::Graph& graph = scenario.model;
  const std::vector<double> shares = repeated_shares(graph, *scenario.parallel);
  double macs = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) macs += shares[i] * static_cast<double>(graph.layers[i].macs);
  const ParallelSpec& spec = *scenario.parallel;
  const double layers = graph.transformer ? graph.transformer->spec.layers : 0;
  const double recomputed = double(spec.recompute_layers) * spec.pipeline * spec.chunks();
  const double of_layers = spec.recompute_layers > 0 && layers > 0 ? std::min(1.0, recomputed / layers) : 1;
  return of_layers * 2 * macs / training_flop(scenario);
}

double update_of_stage_s(const Scenario& scenario, const SplitJob& job, const RankSeconds& seconds, int stage) {
  const double kept = kept_parameters(job, stage);
  if (job.spec.offloads_optimizer) return update_on_host_s(scenario, job, kept, last_backward_s(job, seconds, stage));
  const ParallelSpec& spec = job.spec;
  const DeviceCost device = describe_device(scenario);
  const model::UpdateArrays arrays = model::update_arrays(scenario.compute.optimizer);
  int adapters = 0;  // two matrices for each frozen matrix with an adapter
  for (int layer = 0; layer < job.shape.layers; ++layer) {
    const model::LayerParts parts = job.shape.parts_of(layer);
    if (parts.mixing == model::TokenMixing::attention) adapters += 4;
    if (has_feed_forward_adapters(spec, parts)) adapters += 4;
  }
  const double tensors = double(spec.lora_rank > 0 ? adapters : scenario.model.parameter_tensors()) / spec.pipeline;
  // The norm of all gradients reads them, clipping reads and writes them. Half-precision weights are copied from the
  // master weights.
  const double around_update =
      3 * device.update_element_bytes + (job.memory.parameters.master > 0 ? kSingleBytes + kHalfBytes : 0);
  const double summed = shards_gradients(job.spec) ? kept : trained_parameters(job, stage).total();
  const double zeroed = has_gradient_arrays(job) ? job.memory.parameters.gradient * summed : 0;
  const double bytes =
      kept * (arrays.passes() * device.update_element_bytes - device.saved_update_bytes + around_update) + zeroed;
  const double of_laws_s = tensors * (arrays.has_norms() ? 2 : 1) * device.launch_s +
                           bytes / (device.memory_bandwidth_bytes_per_s * device.memory_efficiency);
  return scenario.compute.time_factor * of_laws_s;
}

}  // namespace lockstep::sim::replica
