#pragma once
// A network as a graph of layers with inferred shapes and exact counts.
//
// Parameters are the learnable ones: batch-norm gamma and beta are included, running statistics are not. MACs are the
// multiply-adds of one sample's forward pass in matrix multiplications and convolutions only. A 2-D convolution has C
// inputs, K outputs, g groups, an RxS kernel and an output of PxQ. Its weights are K (C/g) R S, its MACs K (C/g) R S P
// Q. A fully-connected layer with I inputs and O outputs has I O weights and I O MACs. An opaque layer has the counts
// given for it.
//
// For a sequence of T tokens, a linear layer has I O weights and T I O MACs. Attention has h heads, S keys, queries of
// d features and values of e features. Each query sees at most w keys (w = S without a window). It has h T min(S, w) (d
// + e) MACs. That counts every pair, also those that a causal mask hides, as the papers do (Chowdhery et al. 2022,
// appendix B: 12 l h s FLOP per token and training step; Narayanan et al. 2021, appendix). Experts have T k (2 or 3) I
// inner MACs, if k experts process each token. An embedding has none.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/base/shared_vector.hpp"
#include "engine/model/recurrence.hpp"
#include "engine/model/window.hpp"

namespace lockstep::model {

enum class LayerKind {
  input,
  conv,
  fc,
  batch_norm,
  relu,
  max_pool,
  avg_pool,
  global_avg_pool,
  lrn,
  dropout,
  add,        ///< element-wise sum of its inputs (residual connection)
  concat,     ///< along channels
  softmax,    ///< softmax cross-entropy loss head
  subsample,  ///< every stride-th pixel, zero channels appended (the identity shortcut "option A" of He et al.)
  opaque,     ///< any other layer, with given shape and counts: predicted, never run
  // Layers of sequences, which are predicted, never run:
  embedding,   ///< looks up a row of a table for every token
  positions,   ///< adds a row of a learned table to every token; may prepend learned tokens
  linear,      ///< multiplies every token by a matrix
  layer_norm,  ///< over the features of a token, or over groups of them
  rms_norm,    ///< layer_norm without mean and bias (Zhang & Sennrich 2019)
  rotary,      ///< rotates pairs of features by the token's position (Su et al. 2021)
  attention,   ///< reads queries, keys and values
  gelu,
  silu,
  tanh,
  multiply,    ///< element-wise product of its inputs (gates)
  take,        ///< selects some of the tokens
  router,      ///< scores of experts for every token
  experts,     ///< several two-layer networks, the best few of which process each token
  recurrence,  ///< carries a state from token to token (recurrence.hpp)
};
std::string to_string(LayerKind kind);

/// Activations of one sample, channels first. A vector of n features is {n, 1, 1}, T tokens of n features {n, T, 1}.
struct Shape {
  int channels = 0;
  int height = 0;
  int width = 0;
  std::int64_t elements() const { return std::int64_t{channels} * height * width; }
  bool operator==(const Shape& o) const { return channels == o.channels && height == o.height && width == o.width; }
};

/// The gains and biases of all kinds of normalisation have the roles bn_gamma and bn_beta.
enum class ParameterRole { weight, bias, bn_gamma, bn_beta };

struct Parameter {
  std::string name;  ///< "conv1/weight"
  ParameterRole role;
  std::int64_t elements;
};

/// The heads of an attention layer. Queries are {heads head_dim, T, 1}, keys {kv_heads (head_dim - shared_dim) +
/// shared_dim, S, 1}, values {kv_heads value_dim, S, 1}, and the output {heads value_dim, T, 1}.
struct AttentionShape {
  int heads = 0;
  int kv_heads = 0;    ///< each serves heads / kv_heads query heads (Ainslie et al. 2023)
  int head_dim = 0;    ///< features of a query and of a key
  int value_dim = 0;   ///< of a value
  int shared_dim = 0;  ///< part of head_dim that the keys of all heads share (DeepSeek-V2, 2024, section 2.1)
  bool causal = false;
  int window = 0;        ///< the most keys that a query sees, including its own; 0: all
  bool fused = true;     ///< scores stay on the chip (Dao et al. 2022)
  bool dropout = false;  ///< on the attention weights
  bool chunked = false;  ///< windows are disjoint chunks: no query sees keys before its chunk (Llama 4)
  bool sinks = false;    ///< a learned score per head that belongs to no key (gpt-oss)
  int buckets = 0;       ///< rows of a learned table of biases by distance (Raffel et al. 2020), one column per head
  int keys = 0;          ///< S, set by the builder
  bool operator==(const AttentionShape& o) const;

  /// Query-key pairs computed for `queries` tokens by a kernel that skips fully masked blocks. Causal: the sum over i =
  /// 1 .. T of min(w, S - T + i); chunked: w (w + 1) / 2 per chunk; else T min(w, S).
  std::int64_t seen_pairs(int queries) const;
  /// All T min(w, S) pairs, as papers count FLOP; a causal mask is ignored.
  std::int64_t pairs_without_causal_mask(int queries) const;
};

/// Holds the sizes of a router and its experts.
struct ExpertsShape {
  int count = 0;
  int active = 0;     ///< number that process each token
  int inner = 0;      ///< width of each
  bool gated = true;  ///< three matrices instead of two (Shazeer 2020)
  bool bias = false;  ///< of each matrix
  bool operator==(const ExpertsShape& o) const;
};

struct Layer {
  std::string name;
  LayerKind kind;
  std::vector<int> inputs;  ///< indices of earlier layers of the graph
  Shape in;                 ///< of the first input
  Shape out;
  Window window;                      ///< conv, max_pool, avg_pool, subsample
  std::vector<Parameter> parameters;  ///< in the order {weight, bias} or {gamma, beta}
  std::int64_t macs = 0;              ///< of one image, forward

  std::int64_t parameter_count() const;
  /// Elements of one image that the forward pass reads: all inputs, but of a subsample only the pixels that it keeps.
  std::int64_t input_elements = 0;

  AttentionShape attention{};         ///< attention
  ExpertsShape experts{};             ///< router, experts
  RecurrenceShape recurrence{};       ///< recurrence
  int tied_to = -1;                   ///< linear: the embedding whose table is its matrix
  std::int64_t kept_elements = 0;     ///< per sample, kept from forward to backward in addition to input and output
  std::int64_t scratch_elements = 0;  ///< per sample, additional memory while the layer computes
};

struct TransformerJob;  // transformer/spec.hpp
class ArenaSizes;       // memory_plan.hpp

/// Layers in topological order; layer 0 is the input. Names are unique.
struct Graph {
  std::string name;   ///< "resnet50"
  std::string title;  ///< "ResNet-50 v1 (stride in the first 1x1)"
  Shape input;
  SharedVector<Layer> layers;
  int tokens = 0;                                               ///< per sample, for sequences; 0: samples are images
  std::shared_ptr<const TransformerJob> transformer = nullptr;  ///< its origin; null: built layer by layer
  std::shared_ptr<ArenaSizes> arenas = nullptr;  ///< shared by copies; null: sizes are computed at each request

  std::int64_t parameter_count() const;
  std::int64_t macs() const;
  std::int64_t fc_parameter_count() const;
  int parameter_tensors() const;
};

/// One gradient tensor that back-propagation produces.
struct Gradient {
  int layer;      ///< index in Graph::layers
  int parameter;  ///< index in Layer::parameters
  std::int64_t elements;
};

/// Returns the gradient tensors in the order of back-propagation: layers from last to first. In a layer, the last
/// parameter comes first (bias before weight, because its gradient needs no convolution).
std::vector<Gradient> gradient_order(const Graph& graph);

/// Builds a graph layer by layer. Each call infers the new layer's shape and returns its index. Throws InputError with
/// the layer's name if shapes do not match.
class GraphBuilder {
 public:
  GraphBuilder(std::string name, std::string title, Shape input);
  int conv(const std::string& name, int from, int out_channels, Window window, bool bias);
  int fc(const std::string& name, int from, int out_features, bool bias = true);
  int batch_norm(const std::string& name, int from);
  int relu(const std::string& name, int from);
  int max_pool(const std::string& name, int from, Window window);
  int avg_pool(const std::string& name, int from, Window window);
  int global_avg_pool(const std::string& name, int from);
  int lrn(const std::string& name, int from);
  int dropout(const std::string& name, int from);
  int add(const std::string& name, const std::vector<int>& from);
  int concat(const std::string& name, const std::vector<int>& from);
  int softmax(const std::string& name, int from);
  int subsample(const std::string& name, int from, int out_channels, int stride);
  /// Adds a layer of any other kind. Its output shape, the sizes of its parameter tensors and its multiply-adds are
  /// taken as given.
  int opaque(const std::string& name, const std::vector<int>& from, Shape out,
             const std::vector<std::int64_t>& parameters, std::int64_t macs);

  // Layers of sequences. `from` may be an image, whose pixels then become tokens.
  int embedding(const std::string& name, int from, int vocabulary, int width);
  int positions(const std::string& name, int from, int count, int extra_tokens = 0);
  int linear(const std::string& name, int from, int out_features, bool bias = true);
  /// Multiplies by the table of an embedding; out_features is the size of its vocabulary.
  int tied_linear(const std::string& name, int from, int embedding, bool bias = false);
  /// Adds a layer_norm or rms_norm over groups of `width` features; 0: over all features.
  int norm(const std::string& name, LayerKind kind, int from, int width = 0);
  /// Adds a rotation of the first `features` of every token; 0: of all.
  int rotary(const std::string& name, int from, int features = 0);
  /// `kind` is gelu, silu or tanh.
  int activation(const std::string& name, LayerKind kind, int from);
  int multiply(const std::string& name, const std::vector<int>& from);
  int take(const std::string& name, int from, int tokens);
  /// `from` lists queries, keys and values; sets shape.keys to the number of keys.
  int attention(const std::string& name, const std::vector<int>& from, AttentionShape shape);
  int router(const std::string& name, int from, int count, int active, bool bias = false);
  /// `from` lists the tokens and their router.
  int experts(const std::string& name, const std::vector<int>& from, int inner, bool gated = true, bool bias = false);
  /// Throws InputError unless the input is `shape.input_width()` wide.
  int recurrence(const std::string& name, int from, const RecurrenceShape& shape);
  /// Sets the number of tokens per sample.
  void count_tokens(int tokens) { graph_.tokens = tokens; }

  /// Returns the output shape of a layer built so far.
  Shape shape(int layer) const { return graph_.layers.at(layer).out; }
  /// Throws InputError for a graph without layers, and if nothing reads a layer's output (except the last layer's and
  /// those of loss heads).
  Graph finish();

 private:
  Layer start(const std::string& name, LayerKind kind, const std::vector<int>& from) const;
  int same_shape(const std::string& name, LayerKind kind, int from);
  Layer matrix(const std::string& name, LayerKind kind, int from, int out_features, bool bias) const;
  int pool(const std::string& name, LayerKind kind, int from, const Window& window);
  int append(Layer layer);
  [[noreturn]] void fail(const std::string& layer, const std::string& wrong) const;

  Graph graph_;
  std::unordered_set<std::string> names_;
  double macs_ = 0;  // sum over all layers
};

/// Reads a user's model: {"schema": "lockstep/model/1", "name", "input": [C, H, W] or "tokens": T, "layers": [...]};
/// see graph_json.cpp.
Graph graph_from_json(const JsonNode& node);
/// Writes the format that graph_from_json() reads: it restores an equal graph. Omits keys with default values.
Json to_json(const Graph& graph);

/// One row per graph: name, input, parameters, multiply-adds.
std::string models_text(const std::vector<Graph>& graphs);
/// The text that `simulate --show-model NAME` prints.
std::string show_model_text(const Graph& graph);

}  // namespace lockstep::model
