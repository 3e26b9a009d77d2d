#pragma once
// The numbers of a transformer that its traffic and its memory follow from, and its parameters, whole and on a rank.
#include <cstdint>
#include <optional>

#include "sim/scenario/parallel_spec.hpp"
#include "sim/split/stages.hpp"

namespace lockstep::sim {

enum class NormKind { layer, rms };  ///< weight and bias; weight

/// Multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1).
struct LatentAttention {
  int query_rank = 0;  ///< 0: queries are not compressed
  int kv_rank = 0;     ///< of the compressed keys and values
  int rotary_dim = 0;  ///< of the part of queries and keys that carries the position
  int value_dim = 0;   ///< of a head
};

struct ExpertShape {
  int experts = 0;
  int per_token = 0;     ///< experts that a token is sent to
  int inner = 0;         ///< width of an expert
  int shared_inner = 0;  ///< width of what every token passes besides
  int dense_layers = 0;  ///< the first layers, which have no experts
  int every = 1;         ///< of the others, layer i has experts where i mod every = phase
  int phase = 0;
};

struct TransformerShape {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;  ///< latent attention: of the part without position
  int inner = 0;     ///< of the dense MLP
  bool is_gated = false;
  int vocabulary = 0;  ///< rows of the embedding, padding included
  int sequence = 0;
  int positions = 0;  ///< rows of learned position embeddings; 0: none
  bool ties_embedding = false;
  bool has_biases = false;      ///< of all matrices
  bool has_qkv_biases = false;  ///< of queries, keys and values
  bool has_head_norms = false;  ///< RMS norms of each head's query and key
  NormKind norm = NormKind::layer;
  double dropout = 0;               ///< 0: no masks are kept
  bool has_fused_attention = true;  ///< scores are not written to memory (Dao et al. 2022, "FlashAttention")
  std::optional<LatentAttention> latent;
  std::optional<ExpertShape> experts;

  /// Elements of a token's queries, keys and values, and of the heads' outputs; over all heads.
  std::int64_t query_width() const;
  std::int64_t key_width() const;
  std::int64_t value_width() const;
  std::int64_t output_width() const;

  bool has_experts(int layer) const {
    return experts && layer >= experts->dense_layers && layer % experts->every == experts->phase;
  }
};

/// The first thing in which a model and a split do not fit: heads, layers, experts and the sequence that the ranks do not
/// divide. `pipeline` is left to partition(). Throws InputError.
void check_fits(const TransformerShape& shape, const ParallelSpec& spec);

/// Parameters of a layer, by how they are split.
struct LayerParameters {
  std::int64_t attention = 0;   ///< over tensor ranks
  std::int64_t mlp = 0;         ///< over tensor ranks; shared experts included
  std::int64_t experts = 0;     ///< of all experts, over tensor and expert ranks
  std::int64_t replicated = 0;  ///< on every tensor rank: norms, routers, biases behind a sum, compressions

  std::int64_t total() const { return attention + mlp + experts + replicated; }
};

LayerParameters layer_parameters(const TransformerShape& shape, int layer);
std::int64_t embedding_parameters(const TransformerShape& shape);  ///< words and positions
std::int64_t loss_parameters(const TransformerShape& shape);       ///< final norm, and the output's matrix unless tied
std::int64_t parameter_count(const TransformerShape& shape);

/// Parameters on a rank; dense and experts' apart, because different ranks add their gradients up.
struct RankParameters {
  double dense = 0;
  double experts = 0;

  double total() const { return dense + experts; }
};

/// Of a part of the pipeline. A tied embedding stands on its last part once more. Where a matrix's rows are not divided
/// by the tensor ranks (key-value heads fewer than ranks are repeated), the rank with most counts.
RankParameters rank_parameters(const TransformerShape& shape, const ParallelSpec& spec, const Part& part);
/// Of one layer.
RankParameters rank_layer_parameters(const TransformerShape& shape, const ParallelSpec& spec, int layer);

}  // namespace lockstep::sim
