#pragma once
// What a rank of a split sends, layer by layer, micro-batch by micro-batch and in an iteration.
//
// b sequences a micro-batch, s tokens, h hidden, e bytes an element; t, c, p, x, d: sizes of tensor, context, pipeline,
// expert and data parallelism. A context rank has s/c tokens. Formulas and sources are in README.md.
#include <string>
#include <vector>

#include "sim/split/pipeline.hpp"
#include "sim/split/transformer_shape.hpp"

namespace lockstep::sim::split {

enum class TrafficKind { all_reduce, reduce_scatter, all_gather, all_to_all, send };

/// Who takes part.
enum class TrafficGroup {
  tensor,
  context,
  expert,
  neighbour,         ///< the next or the last stage
  gradients,         ///< ranks that add up a dense layer's gradients: context and data
  expert_gradients,  ///< the same of an expert
  shards,            ///< ranks that share one copy of what is sharded; within `gradients`
  shard_copies,      ///< ranks that have the same shard
  embeddings,        ///< first and last stage, of a tied embedding
  mirrored_stages,   ///< stages that have the same layers, of a pipeline with two copies
};

struct Traffic {
  std::string what;
  TrafficKind kind = TrafficKind::send;
  TrafficGroup group = TrafficGroup::tensor;
  int ranks = 1;
  /// Of the whole vector: what an all-reduce adds up, a reduce-scatter takes in, an all-gather gives out, what one rank of
  /// an all-to-all holds, a message.
  double bytes = 0;
  double times = 1;
  bool is_beside_products = false;  ///< of tensor ranks: it travels beside the products that make it or need it
  double host_s = 0;                ///< of the host, before each time

  /// What a rank sends in all, by the bandwidth-optimal algorithms: all-reduce 2 (n-1)/n of the bytes, reduce-scatter,
  /// all-gather and all-to-all (n-1)/n, a message 1.
  double sent_bytes() const;
};

using TrafficList = std::vector<Traffic>;
double sent_bytes(const TrafficList& list);
double sent_bytes(const TrafficList& list, TrafficGroup group);

struct TrafficOptions {
  double activation_bytes = 2;  ///< of an element
  double weight_bytes = 2;      ///< as they are gathered
  double gradient_bytes = 4;    ///< as they are added up
  bool scatters_to_stages =
      false;  ///< tensor ranks send a part each, gathered by the receivers (Narayanan et al. 2021, 4.1)
};

/// Bytes of a micro-batch's hidden state on a context rank: b (s/c) h e.
double hidden_bytes(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);

/// Of a layer and a micro-batch. With full recomputation the backward pass repeats the forward one's.
TrafficList layer_forward(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                          const TrafficOptions& options);
TrafficList layer_backward(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                           const TrafficOptions& options);
/// Of the embedding whose rows the tensor ranks share, and of the loss whose columns they share.
TrafficList embedding_forward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);
TrafficList embedding_backward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);
TrafficList loss_forward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);
TrafficList loss_backward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);

/// From a stage to its neighbour, a micro-batch, either way.
TrafficList stage_message(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);

/// Exchange of gradients between two stages with the same layers (ParallelSpec::has_two_copies()). It follows the
/// exchange over replicas, and a rank sends only the gradients that it keeps.
TrafficList copies_exchange(const RankParameters& parameters, const ParallelSpec& spec, const TrafficOptions& options);

/// Number of times that a backward pass gathers a block's weights: one more if the weights that were gathered for the
/// repeated forward pass are freed before the backward pass.
int gathers_of_backward(const ParallelSpec& spec);

/// Of a rank's gradients and weights in an iteration of m micro-batches, by the stage of sharding; of zero3's weights two
/// gathers a micro-batch. With calls for each matrix these are alike, as many as there are matrices: vectors, which stay
/// whole, are not counted as calls (DeepSpeed: param_persistence_threshold).
TrafficList state_exchange(const RankParameters& parameters, const ParallelSpec& spec, int micro_batches,
                           const TrafficOptions& options);

/// All of a rank of `stage`; `parts` are those of the whole pipeline (partition()).
TrafficList iteration_traffic(const TransformerShape& shape, const ParallelSpec& spec,
                              const std::vector<ModelPart>& parts, int stage, int micro_batches,
                              const TrafficOptions& options);

}  // namespace lockstep::sim::split
