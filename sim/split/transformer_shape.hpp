#pragma once
// A transformer as a job runs it, and its parameters, whole and on a rank of a split.
#include <cstdint>

#include "engine/model/transformer/spec.hpp"
#include "sim/scenario/parallel_spec.hpp"
#include "sim/split/stages.hpp"

namespace lockstep::sim::split {

constexpr double kSingleBytes = 4, kHalfBytes = 2;  ///< of an element in single and in half precision

/// The model's numbers and the length of a sequence.
struct TransformerShape : model::TransformerSpec {
  int sequence = 0;                 ///< tokens of a sample
  bool has_fused_attention = true;  ///< scores are not written to memory (Dao et al. 2022, "FlashAttention")

  TransformerShape() = default;
  TransformerShape(const model::TransformerSpec& spec, const model::SequenceJob& job)
      : model::TransformerSpec(spec),
        sequence(job.tokens > 0 ? job.tokens : spec.usual_tokens()),
        has_fused_attention(job.fused_attention) {}

  bool has_latent_attention() const { return latent.kv_rank > 0; }
  /// Elements of a token's queries, keys and values, and of the heads' outputs; over all heads.
  std::int64_t query_width() const;
  std::int64_t key_width() const;
  std::int64_t value_width() const;
  std::int64_t output_width() const;
};

/// How many tensor ranks have the same head of keys and values: 1 where there are as many heads as ranks.
int kv_repeats(const TransformerShape& shape, const ParallelSpec& spec);

/// Why a model has no splits: it is more than one stack of layers over tokens (encoder and decoder, images, embeddings of
/// another width). Empty: it has.
std::string why_not_split(const TransformerShape& shape);

/// Throws InputError with the first thing in which a model and a split do not fit: heads, columns, experts and a sequence
/// that the ranks do not divide; a model that is more than one stack of layers over tokens (encoder and decoder, images,
/// embeddings of another width). `pipeline` is left to partition().
void check_fits(const TransformerShape& shape, const ParallelSpec& spec);

/// Parameters of a layer, by how they are split.
struct LayerParameters {
  std::int64_t attention = 0;   ///< over tensor ranks; or of a recurrence
  std::int64_t mlp = 0;         ///< over tensor ranks; shared experts included
  std::int64_t experts = 0;     ///< of all experts, over tensor and expert ranks
  std::int64_t replicated = 0;  ///< on every tensor rank: norms, routers, biases behind a sum, compressions

  std::int64_t total() const { return attention + mlp + experts + replicated; }
};

LayerParameters layer_parameters(const TransformerShape& shape, int layer);
/// Of what stands before and behind the layers, but for the table of words and the output's matrix: positions, norms, what
/// an objective needs. On every tensor rank.
std::int64_t embedding_parameters(const TransformerShape& shape);
std::int64_t loss_parameters(const TransformerShape& shape);

/// Parameters on a rank; dense and experts' apart, because different ranks add their gradients up.
struct RankParameters {
  double dense = 0;
  double experts = 0;
  double matrices = 0;  ///< that `dense` is in, beside vectors: queries, keys and values are one

  double total() const { return dense + experts; }
  RankParameters half() const { return {dense / 2, experts / 2, matrices / 2}; }
  RankParameters& operator+=(const RankParameters& more) {
    dense += more.dense;
    experts += more.experts;
    matrices += more.matrices;
    return *this;
  }
};

/// The split as it is for one layer of a part: with ParallelSpec::recompute_layers, layers behind these are not recomputed.
ParallelSpec spec_of_layer(const ParallelSpec& spec, const ModelPart& part, int layer);

/// Of a part of the pipeline. A tied embedding stands on its last part once more. Heads of keys and values that are fewer
/// than tensor ranks are repeated; a vocabulary that the ranks do not divide counts in fractions of a row (frameworks pad
/// it: give the padded one).
RankParameters rank_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part);
/// Of one layer.
RankParameters rank_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer);

/// Of these, what is trained: all, or with adapters of rank r (Hu et al. 2021) two matrices beside each of the attention's,
/// r (in + out) parameters. On tensor ranks the one is whole and the other split, as it is beside the matrix.
RankParameters trained_parameters(const TransformerShape& shape, const ParallelSpec& spec, const ModelPart& part);
RankParameters trained_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer);

}  // namespace lockstep::sim::split
