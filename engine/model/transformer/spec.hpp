#pragma once
// A transformer by its numbers: what decides its parameters, its arithmetic and its memory, whatever file or table they
// came from. A layer is attention and then a feed-forward network, each added to what went in:
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
/// What the loss is taken of.
enum class Objective {
  next_token,
  masked_token,  ///< 15 % of the tokens, through a layer of its own (Devlin et al. 2019)
  masked_and_next_sentence,
  image_class,
};

/// Mixture of experts in place of the feed-forward network of some layers.
struct MixtureSpec {
  int count = 0;  ///< 0: none
  int active = 0;
  int inner = 0;             ///< width of each
  int shared_inner = 0;      ///< width of the part that is at work on every token
  bool shared_gate = false;  ///< whose output is weighed by a factor of the token (Qwen)
  bool balancing_bias =
      false;                 ///< of each expert's score, moved by load in place of a gradient (DeepSeek-V3), or learned
  bool bias = false;         ///< of each expert's matrices (gpt-oss)
  int first = 0;             ///< layers before are dense; counted from 0
  int every = 1, phase = 0;  ///< layer i has experts where i mod every = phase
  std::vector<int> dense_layers;  ///< and these have none
};

/// The two parts of a layer: token mixing, then the feed-forward network or the experts.
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

/// Multi-latent attention (DeepSeek-V2, 2024, section 2.1): keys and values from a short vector of each token.
struct LatentSpec {
  int kv_rank = 0;                                ///< 0: none
  int q_rank = 0;                                 ///< 0: queries are made from the token itself
  int nope_dim = 0, rope_dim = 0, value_dim = 0;  ///< of a head
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
  int position_rows = 0;    ///< of the learned table
  int rotary_features = 0;  ///< of a head
  int unturned_every = 0;   ///< every so manyth layer has no rotary positions (SmolLM 3, Llama 4); 0: all have
  int distance_buckets = 0;
  int token_types = 0;      ///< rows of a second learned table; 0: none
  int vocabulary = 0;       ///< or classes of images
  int embedding_width = 0;  ///< where it is not `hidden`: two matrices between; 0: hidden
  bool tied_output = false;
  bool embedding_norm = false, final_norm = true;
  bool qkv_bias = false, attention_out_bias = false, inner_bias = false, output_bias = false;
  bool qk_norm = false;        ///< RMS norm of each head's query and key
  bool qk_norm_whole = false;  ///< RMS norm of all heads' queries, and of all keys, together (OLMo 2)
  bool sinks = false;          ///< a learned score of each head that stands for no key
  bool causal = true;
  std::vector<int> windows;  ///< of every layer, 0: none; empty: none at all
  bool chunked = false;      ///< the windows follow each other and do not slide
  bool dropout = false, attention_dropout = false;
  int decoder_layers = 0;  ///< encoder-decoder: `layers` are the encoder's
  Objective objective = Objective::next_token;
  MixtureSpec mixture;
  LatentSpec latent;
  RecurrenceShape recurrence;           ///< of layers with TokenMixing::recurrence
  bool recurrence_bias = false;         ///< biases in the input and output projections of a recurrence
  std::vector<LayerParts> layer_parts;  ///< one per layer; empty: attention everywhere, experts as `mixture` says
  bool attention_gate = false;          ///< attention output times sigmoid(linear(token)), element-wise (Qwen3-Next)
  PatchSpec patches;
  int context = 0;  ///< tokens that it was made for

  bool has_experts(int layer) const;
  LayerParts parts_of(int layer) const;
  bool has_recurrence() const;
  int window_of(int layer) const { return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)]; }
  /// Tokens of a sample where the job does not say: the context, 8192 at most; of images what their patches give.
  int usual_tokens() const;
};

/// Learnable parameters, part by part.
struct ParameterParts {
  std::int64_t embeddings = 0;  ///< words, positions, types, their norm
  std::int64_t attention = 0;   ///< with its own norms
  std::int64_t recurrence = 0;  ///< with the matrices before and behind it
  std::int64_t feed_forward = 0;
  std::int64_t experts = 0;  ///< routed ones, with their routers
  std::int64_t norms = 0;    ///< of layers and the last
  std::int64_t output = 0;   ///< what the loss needs behind the last layer; without a tied table
  std::int64_t total() const { return embeddings + attention + recurrence + feed_forward + experts + norms + output; }
};
ParameterParts parameters_of(const TransformerSpec& spec);
/// Of the total, those at work on a token: experts by their number, tables of embeddings left out unless tied to the
/// output.
std::int64_t active_parameters(const TransformerSpec& spec);

/// The transformer reduced to one layer of each kind. Layers of a kind have the same parts and the same window.
struct DistinctLayers {
  TransformerSpec spec;
  std::vector<std::size_t> kind_of_layer;  ///< by layer of the whole, the encoder's first: the layer of `spec` like it
};
DistinctLayers find_distinct_layers(const TransformerSpec& spec);

/// How a job runs it.
struct SequenceJob {
  int tokens = 0;  ///< of a sample (of each side of an encoder-decoder); 0: usual_tokens()
  bool fused_attention = true;
};
/// What a graph of a transformer was made from: a split of it over GPUs goes by these numbers, not by the layers.
struct TransformerJob {
  TransformerSpec spec;
  SequenceJob job;     ///< its tokens filled in
  std::string config;  ///< the HuggingFace configuration that was read, as JSON; empty: there is none
};
/// Its layers. Throws InputError where numbers do not fit together, or the sequence is longer than learned positions.
Graph transformer_graph(const TransformerSpec& spec, const SequenceJob& job = {});

}  // namespace lockstep::model
