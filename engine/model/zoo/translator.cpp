// The translator of Vaswani et al. 2017: six layers each way. Only the table of words at the end is learned; input
// embeddings and positions are not counted.
//
// Memory limits the work between the matrices: heads are transposed, and the h T^2 scores are masked, normalised and
// dropped out in separate passes. Fused attention (Dao et al. 2022) keeps the scores on the chip.
#include <string>

#include "engine/model/zoo/entries.hpp"
#include "engine/model/zoo/token_graph.hpp"

namespace lockstep::model::zoo {
namespace {

// Adds the parts of a layer. `rows` tokens attend to `seen` tokens.
class TranslatorBlock {
 public:
  TranslatorBlock(TokenGraph& net, std::string name, int width, int heads, Attention attention)
      : net_(net), name_(std::move(name)), width_(width), heads_(heads), attention_(attention) {}

  int attention(int at, int memory, int rows, int seen, const std::string& part = "") {
    const std::string n = name_ + part;
    const std::int64_t own = std::int64_t{rows} * width_, others = std::int64_t{seen} * width_;
    const int q = net_.linear(n + "/q", at, rows, width_, width_);
    const int k = net_.linear(n + "/k", memory, seen, width_, width_);
    const int v = net_.linear(n + "/v", memory, seen, width_, width_);
    const int heads = net_.each(n + "/heads", LayerKind::concat, {q, k, v}, own + 2 * others);
    const int mixed = attention_ == Attention::fused
                          ? net_.product(n + "/attention", {heads}, 2 * own * seen, own + 2 * others, own)
                          : in_passes(n, heads, rows, seen);
    const int merged = net_.each(n + "/merge", LayerKind::concat, {mixed}, own);
    return joined(n + "/out", net_.linear(n + "/out", merged, rows, width_, width_), at, own);
  }

  int feed_forward(int at, int rows, int inner) {
    const std::string& n = name_;
    int out = net_.linear(n + "/up", at, rows, width_, inner);
    out = net_.each(n + "/gelu", LayerKind::gelu, {out}, std::int64_t{rows} * inner);
    out = net_.linear(n + "/down", out, rows, inner, width_);
    return joined(n + "/ff", out, at, std::int64_t{rows} * width_);
  }

 private:
  int in_passes(const std::string& n, int heads, int rows, int seen) {
    const std::int64_t own = std::int64_t{rows} * width_, others = std::int64_t{seen} * width_;
    const std::int64_t scores = std::int64_t{heads_} * rows * seen;
    int at = net_.product(n + "/scores", {heads}, own * seen, own + others, scores);
    at = net_.each(n + "/mask", LayerKind::relu, {at}, scores);
    at = net_.each(n + "/softmax", LayerKind::softmax, {at}, scores);
    at = net_.each(n + "/drop", LayerKind::dropout, {at}, scores);
    return net_.product(n + "/context", {at, heads}, own * seen, scores + others, own);
  }

  // Dropout, residual connection and norm.
  int joined(const std::string& n, int out, int at, std::int64_t elements) {
    const int dropped = net_.each(n + "/drop", LayerKind::dropout, {out}, elements);
    const int sum = net_.each(n + "/add", LayerKind::add, {dropped, at}, elements);
    return net_.norm(n + "/norm", sum, elements, width_);
  }

  TokenGraph& net_;
  std::string name_;
  int width_, heads_;
  Attention attention_;
};

// The encoder and the decoder have six layers each. The decoder also attends to the encoder's output. The lookups have
// no parameters of their own; only the output's matrix of words has.
Graph translator(const std::string& name, const std::string& title, int width, int heads, int tokens, int vocabulary,
                 Attention attention) {
  constexpr int layers = 6;
  TokenGraph net(name, title, tokens, width);
  net.count_tokens(2 * tokens);
  const std::int64_t elements = std::int64_t{tokens} * width;
  int encoded = net.lookup("source", 0, {}, elements);
  for (int i = 0; i < layers; ++i) {
    TranslatorBlock block(net, "e" + std::to_string(i + 1), width, heads, attention);
    encoded = block.feed_forward(block.attention(encoded, encoded, tokens, tokens), tokens, 4 * width);
  }
  int at = net.lookup("target", 0, {}, elements);
  for (int i = 0; i < layers; ++i) {
    TranslatorBlock block(net, "d" + std::to_string(i + 1), width, heads, attention);
    at = block.attention(at, at, tokens, tokens);
    at = block.attention(at, encoded, tokens, tokens, "/cross");
    at = block.feed_forward(at, tokens, 4 * width);
  }
  at = net.linear("words", at, tokens, width, vocabulary, false);
  net.each("loss", LayerKind::softmax, {at}, std::int64_t{tokens} * vocabulary);
  return net.finish();
}

Entry entry(const std::string& name, const std::function<Graph(Attention)>& build) {
  return {name, [=] { return build(Attention::in_passes); }, "attention", [=] { return build(Attention::fused); }};
}

}  // namespace

std::vector<Entry> translators() {
  // WMT's English and German sentences have about 28 subwords, from a vocabulary of 32,000 to 37,000.
  return {entry("transformer_base",
                [](Attention a) {
                  return translator("transformer_base", "Transformer base, 28 + 28 tokens", 512, 8, 28, 37000, a);
                }),
          entry("transformer_big", [](Attention a) {
            return translator("transformer_big", "Transformer big, 28 + 28 tokens", 1024, 16, 28, 33708, a);
          })};
}

}  // namespace lockstep::model::zoo
