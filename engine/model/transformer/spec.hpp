#pragma once
// A transformer described by the numbers that determine its parameters, arithmetic and memory, whatever their source. A
// layer is attention followed by a feed-forward network, each with a residual connection:
//
//   pre-norm    x += f(norm(x))           GPT-2 and later
//   post-norm   x = norm(x + f(x))        BERT, OPT-350M
//   sandwich    x += norm(f(norm(x)))     Gemma 2
//   behind      x += norm(f(x))           OLMo 2
//   parallel    x += f(norm(x)) + g(norm'(x))   GPT-NeoX
//   parallel_one   the same with one norm for both   GPT-J, Falcon 7B
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::model {

enum class NormPlace { before, after, both, behind, parallel, parallel_one };
enum class PositionKind { none, learned, rotary, relative };
/// The target of the loss.
enum class Objective {
  next_token,
  masked_token,  ///< 15 % of the tokens, with an additional layer before the output (Devlin et al. 2019)
  masked_and_next_sentence,
  image_class,
};

/// A mixture of experts that replaces the feed-forward network of some layers.
struct MixtureSpec {
  int count = 0;  ///< 0: none
  int active = 0;
  int inner = 0;                  ///< width of each
  int shared_inner = 0;           ///< width of the part that processes every token
  bool shared_gate = false;       ///< the shared part's output is multiplied by a factor per token (Qwen)
  bool balancing_bias = false;    ///< per expert's score; moved by load instead of a gradient (DeepSeek-V3), or learned
  bool bias = false;              ///< on each expert's matrices (gpt-oss)
  int first = 0;                  ///< earlier layers are dense; counted from 0
  int every = 1, phase = 0;       ///< layer i has experts if i mod every = phase
  std::vector<int> dense_layers;  ///< additional layers without experts
};

/// A layer has two parts: token mixing, then the feed-forward network or the experts.
enum class TokenMixing { none, attention, recurrence };
enum class FeedForward { none, network, experts };
struct LayerParts {
  TokenMixing mixing = TokenMixing::attention;
  FeedForward feed_forward = FeedForward::network;
  bool operator<(const LayerParts& o) const {
    return mixing != o.mixing ? mixing < o.mixing : feed_forward < o.feed_forward;
  }
  bool operator==(const LayerParts& o) const { return mixing == o.mixing && feed_forward == o.feed_forward; }
};

/// Multi-latent attention (DeepSeek-V2, 2024, section 2.1) computes keys and values from one short vector per token.
struct LatentSpec {
  int kv_rank = 0;                                ///< 0: none
  int q_rank = 0;                                 ///< 0: queries are computed from the token itself
  int nope_dim = 0, rope_dim = 0, value_dim = 0;  ///< per head
};

struct PatchSpec {
  int image = 0;  ///< pixels of a side; 0: text
  int patch = 0;
  int channels = 3;
};

struct TransformerSpec {
  std::string name, title;
  int layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int inner = 0;  ///< of the feed-forward network
  bool gated = false;
  LayerKind activation = LayerKind::gelu;  ///< relu, gelu or silu
  LayerKind norm = LayerKind::layer_norm;  ///< or rms_norm
  NormPlace norm_place = NormPlace::before;
  PositionKind positions = PositionKind::none;
  int position_rows = 0;    ///< rows of the learned table
  int rotary_features = 0;  ///< per head
  int unturned_every = 0;   ///< every N-th layer has no rotary positions (SmolLM 3, Llama 4); 0: all layers have them
  int distance_buckets = 0;
  int token_types = 0;      ///< rows of a second learned table; 0: none
  int vocabulary = 0;       ///< or classes of images
  int embedding_width = 0;  ///< if not `hidden`, two matrices convert between them; 0: hidden
  bool tied_output = false;
  bool embedding_norm = false, final_norm = true;
  bool qkv_bias = false, attention_out_bias = false, inner_bias = false, output_bias = false;
  bool qk_norm = false;        ///< RMS norm of each head's query and key
  bool qk_norm_whole = false;  ///< RMS norm of all heads' queries, and of all keys, together (OLMo 2)
  bool sinks = false;          ///< a learned score per head that belongs to no key
  bool causal = true;
  std::vector<int> windows;  ///< of every layer, 0: none; empty: no layer has one
  bool chunked = false;      ///< windows are disjoint chunks and do not slide
  bool dropout = false, attention_dropout = false;
  int decoder_layers = 0;  ///< encoder-decoder: `layers` counts the encoder's
  Objective objective = Objective::next_token;
  MixtureSpec mixture;
  LatentSpec latent;
  RecurrenceShape recurrence;           ///< of layers with TokenMixing::recurrence
  bool recurrence_bias = false;         ///< biases in the input and output projections of a recurrence
  std::vector<LayerParts> layer_parts;  ///< one per layer; empty: attention everywhere, experts according to `mixture`
  bool attention_gate = false;          ///< attention output times sigmoid(linear(token)), element-wise (Qwen3-Next)
  PatchSpec patches;
  int context = 0;  ///< tokens for which it was designed

  bool has_experts(int layer) const;
  LayerParts parts_of(int layer) const;
  bool has_recurrence() const;
  int window_of(int layer) const { return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)]; }
  /// The default number of tokens per sample: the context, at most 8192; for images the number of patches.
  int usual_tokens() const;
};

/// Learnable parameters, part by part.
struct ParameterParts {
  std::int64_t embeddings = 0;  ///< words, positions, types, their norm
  std::int64_t attention = 0;   ///< with its own norms
  std::int64_t recurrence = 0;  ///< including the projections before and after it
  std::int64_t feed_forward = 0;
  std::int64_t experts = 0;  ///< routed ones, with their routers
  std::int64_t norms = 0;    ///< of the layers, and the final norm
  std::int64_t output = 0;   ///< layers between the last block and the loss; excludes a tied table
  std::int64_t total() const { return embeddings + attention + recurrence + feed_forward + experts + norms + output; }
};
ParameterParts parameters_of(const TransformerSpec& spec);
/// The parameters that process one token: counts only active experts, and excludes embedding tables unless they are
/// tied to the output.
std::int64_t active_parameters(const TransformerSpec& spec);

/// The transformer reduced to one layer of each kind. Layers of one kind have the same parts and the same window.
struct DistinctLayers {
  TransformerSpec spec;
  std::vector<std::size_t> kind_of_layer;  ///< per layer of the whole, the encoder's first: its equivalent in `spec`
};
DistinctLayers find_distinct_layers(const TransformerSpec& spec);

/// The settings with which a job runs a transformer.
struct SequenceJob {
  int tokens = 0;  ///< per sample (on each side of an encoder-decoder); 0: usual_tokens()
  bool fused_attention = true;
};
/// The origin of a transformer's graph. A split over GPUs is computed from these numbers, not from the graph's layers.
struct TransformerJob {
  TransformerSpec spec;
  SequenceJob job;     ///< with the number of tokens filled in
  std::string config;  ///< the HuggingFace configuration as JSON; empty: none
};
/// Builds the layers. Throws InputError if numbers contradict each other, or if the sequence is longer than the learned
/// positions.
Graph transformer_graph(const TransformerSpec& spec, const SequenceJob& job = {});

}  // namespace lockstep::model
