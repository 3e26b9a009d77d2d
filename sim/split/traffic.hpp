#pragma once
// Lists the messages of a rank of a split: per layer, per micro-batch and per iteration.
//
// A micro-batch has b sequences of s tokens; h is the hidden width, e the bytes of an element. The sizes of tensor,
// context, pipeline, expert and data parallelism are t, c, p, x and d. A context rank has s/c tokens. README.md has
// formulas and sources.
#include <string>
#include <string_view>
#include <vector>

#include "sim/split/pipeline.hpp"
#include "sim/split/transformer_shape.hpp"

namespace lockstep::sim::split {

enum class TrafficKind { all_reduce, reduce_scatter, all_gather, all_to_all, dispatch, send };

/// The ranks that take part in a collective.
enum class TrafficGroup {
  tensor,
  context,
  expert,
  neighbour,         ///< the next or the previous stage
  gradients,         ///< ranks that sum the gradients of a dense layer: context and data
  expert_gradients,  ///< ranks that sum the gradients of an expert
  shards,            ///< ranks that divide one copy of the sharded state; within `gradients`
  shard_copies,      ///< ranks that have the same shard
  embeddings,        ///< first and last stage, if the embedding is tied
  mirrored_stages,   ///< stages with the same layers, in a pipeline with two copies
};

/// A name in two parts, of string literals. Messages are listed often, and their names are read only in traces.
struct TrafficName {
  std::string_view object, part;

  TrafficName() = default;
  TrafficName(const char* object_name, std::string_view part_name = "") : object(object_name), part(part_name) {}
  std::string text() const { return std::string(object) + std::string(part); }
};

struct Traffic {
  TrafficName name{};
  TrafficKind kind = TrafficKind::send;
  TrafficGroup group = TrafficGroup::tensor;
  int ranks = 1;
  /// Bytes of the whole vector: the input of an all-reduce or a reduce-scatter, the output of an all-gather, the data
  /// that a rank holds for an all-to-all, or a message.
  double bytes = 0;
  double times = 1;
  bool is_beside_products = false;  ///< between tensor ranks: overlaps the GEMMs that produce or use the data
  double host_s = 0;                ///< seconds of the host before each collective
  double choices = 0, experts = 0;  ///< dispatch: experts per token, experts per layer
  double passed_on_per_s = 0;       ///< dispatch: limit of the bytes/s that a GPU passes on; 0: that of its links

  /// Returns the bytes that a rank sends in all. Bandwidth-optimal algorithms send 2 (n-1)/n of an all-reduce's bytes,
  /// and (n-1)/n for a reduce-scatter, an all-gather or an all-to-all. A dispatch over `nodes` nodes sends each token
  /// once to each other node with its experts, and once from there to each rank.
  double sent_bytes(int nodes = 1) const;
};

/// Returns the bytes that a rank dispatches to one of `parts` nodes or ranks with equally many experts. A token has k =
/// `choices` experts, drawn from all E at random; its copies for all of them are `bytes`. The node or rank has one of
/// them with the probability 1 - (E - E/parts over k) / (E over k).
double dispatched_bytes(const Traffic& dispatch, int parts);

using TrafficList = std::vector<Traffic>;
/// Sums over the list, for a group of expert ranks that is on `expert_nodes` nodes.
double sent_bytes(const TrafficList& list, int expert_nodes = 1);
double sent_bytes(const TrafficList& list, TrafficGroup group);

struct TrafficOptions {
  double activation_bytes = 2;  ///< per element
  double weight_bytes = 2;      ///< per gathered weight
  double frozen_share = 1;      ///< bytes of a layer's gathered weight over weight_bytes; below 1: quantised
  double gradient_bytes = 4;    ///< per summed gradient
  bool scatters_to_stages =
      false;  ///< each tensor rank sends a part, and the receivers gather the parts (Narayanan et al. 2021, 4.1)
};

/// Bytes of a micro-batch's hidden state on a context rank: b (s/c) h e.
double hidden_state_bytes(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);

/// Lists the traffic of a layer for one micro-batch. With full recomputation, the backward pass includes the forward
/// pass's traffic.
TrafficList layer_forward(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                          const TrafficOptions& options);
TrafficList layer_backward(const TransformerShape& shape, const ParallelSpec& spec, int layer,
                           const TrafficOptions& options);
/// Lists the traffic of the embedding, whose rows the tensor ranks divide, and of the loss, whose columns they divide.
TrafficList embedding_forward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);
TrafficList embedding_backward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);
TrafficList loss_forward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);
TrafficList loss_backward(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);

/// Returns the message of a micro-batch from a stage to its neighbour, in either direction.
TrafficList stage_message(const TransformerShape& shape, const ParallelSpec& spec, const TrafficOptions& options);

/// Lists the exchange of gradients between two stages with the same layers (ParallelSpec::has_two_copies()). It follows
/// the exchange over replicas. A rank sends only the gradients that it keeps.
TrafficList copies_exchange(const RankParameters& parameters, const ParallelSpec& spec, const TrafficOptions& options);

/// Returns how often a backward pass gathers a block's weights: twice if recomputation gathers and frees them before,
/// else once.
int gathers_of_backward(const ParallelSpec& spec);

/// Lists the exchanges of a rank's gradients and weights in an iteration of m micro-batches, by the sharding
/// stage. zero3 gathers weights in each pass of a micro-batch. If each matrix has its own collective, all are
/// taken to be equally large. Vectors stay whole and have no collective (DeepSpeed:
/// param_persistence_threshold).
TrafficList state_exchange(const RankParameters& parameters, const ParallelSpec& spec, int micro_batches,
                           const TrafficOptions& options);

/// Lists all traffic of a rank of `stage`; `parts` are those of the whole pipeline (partition()).
TrafficList iteration_traffic(const TransformerShape& shape, const ParallelSpec& spec,
                              const std::vector<ModelPart>& parts, int stage, int micro_batches,
                              const TrafficOptions& options);

}  // namespace lockstep::sim::split
