#include <algorithm>
#include <cmath>

#include "engine/base/index.hpp"
#include "sim/split/traffic.hpp"

namespace lockstep::sim::split {
namespace {

void append(TrafficList& list, const TrafficList& more, double times) {
  for (Traffic traffic : more) {
    traffic.times *= times;
    list.push_back(std::move(traffic));
  }
}

// Adds the exchange of one kind of parameters over `ranks` ranks. Groups of `shards` ranks divide one copy of the
// state, and exchange it in `calls` collectives.
void exchange(TrafficList& list, const char* what, double parameters, double calls, TrafficGroup all, int ranks,
              int shards, const ParallelSpec& spec, int micro_batches, const TrafficOptions& options) {
  const ShardingStage sharding = spec.exchanged_sharding();
  if (parameters <= 0 || ranks == 1) return;
  const double gradients = parameters * options.gradient_bytes, weights = parameters * options.weight_bytes;
  if (sharding == ShardingStage::none) {
    list.push_back({TrafficName(what, "'s gradients"), TrafficKind::all_reduce, all, ranks, gradients});
    return;
  }
  const TrafficGroup group = shards < ranks ? TrafficGroup::shards : all;
  // Sharded gradients are reduced after every micro-batch.
  const double scatters = sharding == ShardingStage::zero1 ? 1 : micro_batches;
  // Sharded weights are gathered for every forward and every backward pass.
  const double gathers = sharding == ShardingStage::zero3 ? 2.0 * micro_batches : 1;
  if (shards > 1) {
    const double host_s = spec.waits_for_shards() ? shards * spec.slice_overhead_s : 0;
    list.push_back({TrafficName(what, "'s gradients"), TrafficKind::reduce_scatter, group, shards, gradients / calls,
                    scatters * calls, false, host_s});
    list.push_back({TrafficName(what, "'s weights"), TrafficKind::all_gather, group, shards, weights / calls,
                    gathers * calls, false, host_s});
  }
  if (shards < ranks)
    list.push_back({TrafficName(what, "'s gradients between copies"), TrafficKind::all_reduce,
                    TrafficGroup::shard_copies, ranks / shards, gradients / shards});
}

}  // namespace

double Traffic::sent_bytes(int nodes) const {
  const double others = (ranks - 1.0) / ranks;
  switch (kind) {
    case TrafficKind::all_reduce:
      return times * 2 * others * bytes;
    case TrafficKind::reduce_scatter:
    case TrafficKind::all_gather:
    case TrafficKind::all_to_all:
      return times * others * bytes;
    case TrafficKind::dispatch:
      return times * ((nodes - 1) * dispatched_bytes(*this, nodes) + (ranks - nodes) * dispatched_bytes(*this, ranks));
    case TrafficKind::send:
      return times * bytes;
  }
  return 0;
}

double dispatched_bytes(const Traffic& dispatch, int parts) {
  const double here = dispatch.experts / parts;
  double none = 1;
  for (double i = 0; i < dispatch.choices; ++i)
    none *= std::max(0.0, dispatch.experts - here - i) / (dispatch.experts - i);
  return dispatch.bytes / dispatch.choices * (1 - none);
}

double sent_bytes(const TrafficList& list, int expert_nodes) {
  double sum = 0;
  for (const Traffic& traffic : list) sum += traffic.sent_bytes(expert_nodes);
  return sum;
}

double sent_bytes(const TrafficList& list, TrafficGroup group) {
  double sum = 0;
  for (const Traffic& traffic : list)
    if (traffic.group == group) sum += traffic.sent_bytes();
  return sum;
}

TrafficList stage_message(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options) {
  if (spec.pipeline == 1) return {};
  const bool is_scattered = spec.tensor > 1 && !spec.sequence && options.scatters_to_stages;
  const double whole = hidden_state_bytes(shape, spec, options);
  const double message = spec.sequence || is_scattered ? whole / spec.tensor : whole;
  TrafficList list{{"hidden state to the next stage", TrafficKind::send, TrafficGroup::neighbour, 2, message}};
  if (is_scattered)
    list.push_back(
        {"hidden state from the other stage", TrafficKind::all_gather, TrafficGroup::tensor, spec.tensor, whole});
  return list;
}

TrafficList state_exchange(const RankParameters& parameters, const ParallelSpec& spec, int micro_batches,
                           const TrafficOptions& options) {
  TrafficList list;
  list.reserve(6);  // at most three of dense layers and three of experts
  const double calls = spec.waits_for_shards() ? std::max(1.0, std::round(parameters.matrices)) : 1;
  exchange(list, "dense layers", parameters.dense, calls, TrafficGroup::gradients, spec.gradient_ranks(),
           spec.ranks_of_sharding(), spec, micro_batches, options);
  exchange(list, "experts", parameters.experts, 1, TrafficGroup::expert_gradients, spec.expert_gradient_ranks(),
           spec.expert > 1 ? spec.expert_gradient_ranks() : spec.ranks_of_sharding(), spec, micro_batches, options);
  return list;
}

TrafficList copies_exchange(const RankParameters& parameters, const ParallelSpec& spec, const TrafficOptions& options) {
  if (!spec.has_two_copies() || parameters.total() <= 0) return {};
  const bool is_sharded = spec.sharding != ShardingStage::none;
  const int of_experts = spec.expert > 1 ? spec.expert_gradient_ranks() : spec.ranks_of_sharding();
  const double kept =
      is_sharded ? parameters.dense / spec.ranks_of_sharding() + parameters.experts / of_experts : parameters.total();
  return {{"gradients between the pipeline's copies", TrafficKind::all_reduce, TrafficGroup::mirrored_stages, 2,
           kept * options.gradient_bytes}};
}

int gathers_of_backward(const ParallelSpec& spec) {
  return spec.waits_for_shards() && spec.recompute == Recomputation::full ? 2 : 1;
}

TrafficList iteration_traffic(const TransformerShape& shape, const ParallelSpec& spec,
                              const std::vector<ModelPart>& parts, int stage, int micro_batches,
                              const TrafficOptions& options) {
  TrafficList list;
  RankParameters all, trained, blocks;
  const PipelineShape pipeline = pipeline_shape(spec, micro_batches);
  const double m = pipeline.micro_batches_of_chunk();
  for (std::size_t i = to_index(stage); i < parts.size(); i += to_index(spec.pipeline)) {
    const ModelPart& part = parts[i];
    for (int layer = part.first_block; layer < part.first_block + part.blocks; ++layer) {
      append(list, layer_forward(shape, spec, layer, options), m);
      append(list, layer_backward(shape, spec_of_layer(spec, part, layer), layer, options), m);
      blocks += rank_layer_parameters(shape, spec, layer).scaled(options.frozen_share);
    }
    if (part.has_embedding) {
      append(list, embedding_forward(shape, spec, options), m);
      append(list, embedding_backward(shape, spec, options), m);
    }
    if (part.has_loss) {
      append(list, loss_forward(shape, spec, options), m);
      append(list, loss_backward(shape, spec, options), m);
    }
    // Activations are sent to the next part, gradients to the previous one.
    const ChunkPlace place{stage, static_cast<int>(i) / spec.pipeline};
    append(list, stage_message(shape, spec, options), m * pipeline.messages_of(place));
    all += rank_parameters_outside_layers(shape, spec, part);
    trained += trained_parameters(shape, spec, part);
    const bool has_twin =
        shape.tied_output && part.has_embedding != part.has_loss && !part.has_both_ends_on_stage && spec.lora_rank == 0;
    if (has_twin)
      list.push_back({"tied embedding's gradients", TrafficKind::all_reduce, TrafficGroup::embeddings, 2,
                      static_cast<double>(shape.vocabulary) * shape.hidden / spec.tensor * options.gradient_bytes});
  }
  append(list, copies_exchange(trained, spec, options), 1);
  // Only trained parameters have gradients. With zero3, and in FSDP, all weights are gathered, else only the updated ones.
  const bool gathers_all = spec.exchanged_sharding() == ShardingStage::zero3 || spec.keeps_gathered_state();
  for (const Traffic& traffic : state_exchange(trained, spec, pipeline.micro_batches_of_chunk(), options))
    if (traffic.kind != TrafficKind::all_gather || !gathers_all) list.push_back(traffic);
  if (!gathers_all) return list;
  all += blocks;
  const auto gather = [&](const RankParameters& parameters, double times) {
    for (Traffic traffic : state_exchange(parameters, spec, pipeline.micro_batches_of_chunk(), options)) {
      traffic.times *= times;
      if (traffic.kind == TrafficKind::all_gather && times > 0) list.push_back(traffic);
    }
  };
  gather(all, 1);
  gather(blocks, (gathers_of_backward(spec) - 1) / 2.0);
  return list;
}

}  // namespace lockstep::sim::split
