#pragma once
// A network as a graph of layers with inferred shapes and exact counts.
//
// Counting: parameters are the learnable ones (batch-norm gamma and beta included, running statistics excluded);
// MACs are multiply-adds of one sample's forward pass in matrix products and convolutions, nothing else.
// A 2-D convolution with C inputs, K outputs, g groups, RxS kernel and an output of PxQ: K (C/g) R S weights,
// K (C/g) R S P Q MACs. A fully-connected layer with I inputs and O outputs: I O weights, I O MACs. An opaque layer has
// the counts that it is given.
//
// Of a sequence of T tokens: a linear layer has I O weights and T I O MACs. Attention of h heads over S keys, each of
// which a query sees at most w of (w = S without a window), with queries of d features and values of e, has
// h T min(S, w) (d + e) MACs: every pair, also those that a causal mask hides, as the papers count (Chowdhery et al.
// 2022, appendix B: 12 l h s FLOP per token and training step; Narayanan et al. 2021, appendix). Experts have
// T k (2 or 3) I inner MACs, k of them at work on a token. An embedding has none.
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
  add,        ///< element-wise sum of its inputs (residual)
  concat,     ///< along channels
  softmax,    ///< softmax cross-entropy loss head
  subsample,  ///< every stride-th pixel, zero channels appended (the identity shortcut "option A" of He et al.)
  opaque,     ///< anything else, with the shape and the counts that it is given: predicted, never run
  // Of sequences, predicted, never run:
  embedding,   ///< a row of a table for every token
  positions,   ///< a row of a learned table added to every token; may put learned tokens before them
  linear,      ///< a matrix times every token
  layer_norm,  ///< over the features of a token, or over groups of them
  rms_norm,    ///< the same without mean and bias (Zhang & Sennrich 2019)
  rotary,      ///< turns pairs of features by the token's position (Su et al. 2021)
  attention,   ///< of queries, keys and values
  gelu,
  silu,
  tanh,
  multiply,    ///< element-wise product of its inputs (gates)
  take,        ///< some of the tokens
  router,      ///< scores of experts for every token
  experts,     ///< of several two-layer networks the best few for every token
  recurrence,  ///< a state carried from token to token (recurrence.hpp)
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

/// Gains and biases of all normalisations are gamma and beta.
enum class ParameterRole { weight, bias, bn_gamma, bn_beta };

struct Parameter {
  std::string name;  ///< "conv1/weight"
  ParameterRole role;
  std::int64_t elements;
};

/// Heads of an attention layer. Queries are {heads head_dim, T, 1}, keys {kv_heads (head_dim - shared_dim) + shared_dim,
/// S, 1}, values {kv_heads value_dim, S, 1}; out come {heads value_dim, T, 1}.
struct AttentionShape {
  int heads = 0;
  int kv_heads = 0;    ///< each serves heads / kv_heads queries (Ainslie et al. 2023)
  int head_dim = 0;    ///< features of a query and of a key
  int value_dim = 0;   ///< of a value
  int shared_dim = 0;  ///< of head_dim, those that the keys of all heads share (DeepSeek-V2, 2024, section 2.1)
  bool causal = false;
  int window = 0;        ///< keys that a query sees at most, its own among them; 0: all
  bool fused = true;     ///< scores stay on the chip (Dao et al. 2022)
  bool dropout = false;  ///< of the weights
  bool chunked = false;  ///< the windows follow each other: no query sees keys before its own (Llama 4)
  bool sinks = false;    ///< a learned score of each head that stands for no key (gpt-oss)
  int buckets = 0;       ///< rows of a learned table of biases by distance (Raffel et al. 2020), a column for each head
  int keys = 0;          ///< S, which the builder sets
  bool operator==(const AttentionShape& o) const;

  /// Pairs of a query and a key that a kernel computes which passes over what masks hide whole, of `queries` tokens:
  /// sum over i = 1 .. T of min(w, S - T + i) where causal, of chunks w (w + 1) / 2 each; else T min(w, S).
  std::int64_t seen_pairs(int queries) const;
  /// All T min(w, S), as the papers count.
  std::int64_t counted_pairs(int queries) const;
};

/// Of router and experts.
struct ExpertsShape {
  int count = 0;
  int active = 0;     ///< at work on a token
  int inner = 0;      ///< width of each
  bool gated = true;  ///< three matrices in place of two (Shazeer 2020)
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
  /// Elements of one image read in the forward pass: every input (of a subsample, the pixels it keeps).
  std::int64_t input_elements = 0;

  AttentionShape attention{};         ///< attention
  ExpertsShape experts{};             ///< router, experts
  RecurrenceShape recurrence{};       ///< recurrence
  int tied_to = -1;                   ///< linear: the embedding whose table it multiplies by
  std::int64_t kept_elements = 0;     ///< of one sample, kept inside from forward to backward beside input and output
  std::int64_t scratch_elements = 0;  ///< held beside them while it computes
};

struct TransformerJob;  // transformer/spec.hpp

/// Layers in topological order; layer 0 is the input. Names are unique.
struct Graph {
  std::string name;   ///< "resnet50"
  std::string title;  ///< "ResNet-50 v1 (stride in the first 1x1)"
  Shape input;
  SharedVector<Layer> layers;
  int tokens = 0;  ///< of a sample that is a sequence; 0: samples are images
  std::shared_ptr<const TransformerJob> transformer = nullptr;  ///< what it was made from; null: layer by layer

  std::int64_t parameter_count() const;
  std::int64_t macs() const;
  std::int64_t fc_parameter_count() const;
  int parameter_tensors() const;
};

/// A gradient tensor as back-propagation produces it.
struct Gradient {
  int layer;      ///< index in Graph::layers
  int parameter;  ///< index in Layer::parameters
  std::int64_t elements;
};

/// Gradient tensors in the order back-propagation produces them: layers from last to first; within a layer the last
/// parameter first (bias before weight: its gradient needs no convolution).
std::vector<Gradient> gradient_order(const Graph& graph);

/// Builds a graph layer by layer; each call returns the new layer's index and infers its shape.
/// Throws InputError naming the layer when shapes do not fit.
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
  /// What no other kind is: its output, the elements of its parameter tensors and its multiply-adds are taken as given.
  int opaque(const std::string& name, const std::vector<int>& from, Shape out,
             const std::vector<std::int64_t>& parameters, std::int64_t macs);

  // Of sequences. `from` may be an image where its pixels are to be tokens.
  int embedding(const std::string& name, int from, int vocabulary, int width);
  int positions(const std::string& name, int from, int count, int extra_tokens = 0);
  int linear(const std::string& name, int from, int out_features, bool bias = true);
  /// By the table of an embedding: out_features is its vocabulary.
  int tied_linear(const std::string& name, int from, int embedding, bool bias = false);
  /// layer_norm or rms_norm over groups of `width` features; 0: over all.
  int norm(const std::string& name, LayerKind kind, int from, int width = 0);
  /// Of the first `features` of every token; 0: of all.
  int rotary(const std::string& name, int from, int features = 0);
  /// gelu, silu or tanh.
  int activation(const std::string& name, LayerKind kind, int from);
  int multiply(const std::string& name, const std::vector<int>& from);
  int take(const std::string& name, int from, int tokens);
  /// from: queries, keys, values. shape.keys is theirs.
  int attention(const std::string& name, const std::vector<int>& from, AttentionShape shape);
  int router(const std::string& name, int from, int count, int active, bool bias = false);
  /// from: tokens and their router.
  int experts(const std::string& name, const std::vector<int>& from, int inner, bool gated = true, bool bias = false);
  /// Refuses an input that is not `shape.input_width()` wide.
  int recurrence(const std::string& name, int from, const RecurrenceShape& shape);
  /// Tokens of a sample.
  void count_tokens(int tokens) { graph_.tokens = tokens; }

  /// Shape of a layer built so far, for a builder that depends on it.
  Shape shape(int layer) const { return graph_.layers.at(layer).out; }
  /// Refuses a graph without layers and a layer whose output nothing reads (but the last one and the loss heads).
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
  double macs_ = 0;  // of all layers
};

/// A user's own model, {"schema": "lockstep/model/1", "name", "input": [C, H, W] or "tokens": T, "layers": [...]}; see
/// graph_json.cpp.
Graph graph_from_json(const JsonNode& node);
/// The same form, so that graph_from_json(to_json(graph)) is the graph again; keys at their default are left out.
Json to_json(const Graph& graph);

/// A row for each: name, input, parameters, multiply-adds.
std::string models_text(const std::vector<Graph>& graphs);
/// Text of `simulate --show-model NAME`.
std::string show_model_text(const Graph& graph);

}  // namespace lockstep::model
