#pragma once
// Describes a transformer as a job runs it, and counts its parameters, in total and on a rank of a split.
#include <cstdint>

#include "engine/model/transformer/spec.hpp"
#include "sim/scenario/parallel_spec.hpp"
#include "sim/split/stages.hpp"

namespace lockstep::sim::split {

constexpr double kSingleBytes = 4, kHalfBytes = 2;  ///< bytes per element

/// Adds the length of a sequence and software's choices to the model's numbers.
struct TransformerShape : model::TransformerSpec {
  int sequence = 0;                 ///< tokens of a sample
  bool has_fused_attention = true;  ///< scores are not written to memory (Dao et al. 2022, "FlashAttention")

  TransformerShape() = default;
  TransformerShape(const model::TransformerSpec& spec, const model::SequenceJob& job)
      : model::TransformerSpec(spec),
        sequence(job.tokens > 0 ? job.tokens : spec.usual_tokens()),
        has_fused_attention(job.fused_attention) {}

  bool has_latent_attention() const { return latent.kv_rank > 0; }
  /// Returns the width of a token's queries, summed over all heads. The next functions return those of keys, values and
  /// outputs.
  std::int64_t query_width() const;
  std::int64_t key_width() const;
  std::int64_t value_width() const;
  std::int64_t output_width() const;
};

/// Returns how many tensor ranks hold the same head of keys and values: 1 if there are at least as many heads as ranks.
int kv_repeats(const TransformerShape& shape, const ParallelSpec& spec);

/// Returns why a model has no splits: it is not a single stack of layers over tokens (encoder and decoder, images,
/// embeddings of another width). Empty: it has splits.
std::string why_not_split(const TransformerShape& shape);

/// Throws InputError for the first mismatch of model and split. Heads, columns, experts and sequence must be divisible
/// by the ranks, and the model must be a single stack of layers over tokens. partition() checks `pipeline`.
void check_divisible(const TransformerShape& shape, const ParallelSpec& spec);

/// Parameters of a layer, by the ranks that divide them.
struct LayerParameters {
  std::int64_t attention = 0;   ///< divided by tensor ranks; includes those of a recurrence
  std::int64_t mlp = 0;         ///< divided by tensor ranks; includes shared experts
  std::int64_t experts = 0;     ///< of all experts, divided by tensor and expert ranks
  std::int64_t replicated = 0;  ///< on every tensor rank: norms, routers, biases added after a sum, compressions

  std::int64_t total() const { return attention + mlp + experts + replicated; }
};

LayerParameters layer_parameters(const TransformerShape& shape, int layer);
/// Counts parameters before and after the layers, except those of embedding and output matrix: positions, norms, and
/// those of the training objective. Every tensor rank holds them.
std::int64_t embedding_parameters(const TransformerShape& shape);
std::int64_t loss_parameters(const TransformerShape& shape);

/// Parameters on a rank. Dense ones and experts are separate, because different ranks sum their gradients.
struct RankParameters {
  double dense = 0;
  double experts = 0;
  double matrices = 0;  ///< number of matrices in `dense`; queries, keys and values count as one

  double total() const { return dense + experts; }
  RankParameters half() const { return {dense / 2, experts / 2, matrices / 2}; }
  /// Returns the parameters times `factor`, with as many matrices.
  RankParameters scaled(double factor) const { return {dense * factor, experts * factor, matrices}; }
  RankParameters& operator+=(const RankParameters& more) {
    dense += more.dense;
    experts += more.experts;
    matrices += more.matrices;
    return *this;
  }
};

/// Returns the split for one layer of a part. With ParallelSpec::recompute_layers, only that number of first layers is
/// recomputed.
ParallelSpec spec_of_layer(const ParallelSpec& spec, const ModelPart& part, int layer);

/// Counts the parameters of a part of the pipeline. The last part has its own copy of a tied embedding. If there are
/// fewer heads of keys and values than tensor ranks, they are repeated.
///
/// If the ranks do not divide the vocabulary, fractions of rows count. Frameworks pad the vocabulary instead, so give
/// its padded size.
RankParameters rank_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part);
/// Counts those outside layers: the embedding table, the output matrix and others.
RankParameters rank_parameters_outside_layers(const TransformerShape& shape, const ParallelSpec& spec,
                                              const ModelPart& part);
/// Counts the parameters of one layer on a rank.
RankParameters rank_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer);

/// Returns the trained parameters: all, or with adapters of rank r (Hu et al. 2021) two matrices of r (in + out)
/// parameters in total per matrix of the attention. One of the two is whole on every tensor rank. The other is split
/// like the matrix to which it belongs.
RankParameters trained_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part);
/// The same, if the trained parameters of each of the model's layers are known.
RankParameters trained_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part,
                                  const std::vector<RankParameters>& trained_layers);
/// Counts those outside layers; with adapters there are none.
RankParameters trained_parameters_outside_layers(const TransformerShape& shape, const ParallelSpec& spec,
                                                 const ModelPart& part);
/// True if the layer has a dense feed-forward network whose matrices have LoRA adapters.
bool has_feed_forward_adapters(const ParallelSpec& spec, const model::LayerParts& parts);
RankParameters trained_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer);

}  // namespace lockstep::sim::split
