// Transformers: BERT (Devlin et al. 2019), GPT-2 (Radford et al. 2019), GPT-3's sizes (Brown et al. 2020, Table 2.1),
// ViT (Dosovitskiy et al. 2021), and the translator (Vaswani et al. 2017).
//
// Multiply-adds of a sequence of T tokens, width d: 12 d^2 T of a layer's matrices, 2 T^2 d of its attention, and d V
// for every token whose word is predicted, of V words. Between the matrices everything is bound by memory: heads are
// transposed, and the h T^2 scores are masked, normalised and dropped out, each a pass of its own. Software that fuses
// attention (Dao et al. 2022) keeps the scores on the chip.
#include <cmath>
#include <string>

#include "engine/model/zoo/entries.hpp"
#include "engine/model/zoo/token_graph.hpp"

namespace lockstep::model::zoo {
namespace {

constexpr double kMasked = 0.15;  // of BERT's tokens, which are predicted
constexpr int kHeadWidth = 64;    // where nothing else is said

enum class Predicts { masked, all, one };

struct Transformer {
  int layers, width, tokens, vocabulary;
  Predicts predicts = Predicts::all;
  int positions = 0;  // of the learned table; 0: as many as tokens
  int heads = 0;      // 0: of 64 features each
};

int predicted_tokens(const Transformer& t) {
  switch (t.predicts) {
    case Predicts::masked:
      return static_cast<int>(std::ceil(kMasked * t.tokens));
    case Predicts::all:
      return t.tokens;
    case Predicts::one:
      break;
  }
  return 1;
}

// The parts of a layer, for `rows` tokens that look at `seen`.
class Block {
 public:
  Block(TokenGraph& net, std::string name, int width, int heads, Attention attention)
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

  // Dropped out, added to what went in, normalised.
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

// The table of words, shared with the loss, stands at the end: its gradient is dense.
Graph transformer(const std::string& name, const std::string& title, const Transformer& t, Attention attention) {
  TokenGraph net(name, title, t.tokens, t.width);
  net.count_tokens(t.tokens);
  const std::int64_t elements = std::int64_t{t.tokens} * t.width;
  const int heads = t.heads > 0 ? t.heads : t.width / kHeadWidth;
  const bool is_bert = t.predicts == Predicts::masked;
  std::vector<std::int64_t> tables{std::int64_t{t.positions > 0 ? t.positions : t.tokens} * t.width};
  if (is_bert) tables.push_back(2 * t.width);  // which of the two sentences
  int at = net.lookup("embeddings", 0, tables, elements);
  at = net.norm("embeddings/norm", at, elements, t.width);
  for (int i = 0; i < t.layers; ++i) {
    Block block(net, "l" + std::to_string(i + 1), t.width, heads, attention);
    at = block.attention(at, at, t.tokens, t.tokens);
    at = block.feed_forward(at, t.tokens, 4 * t.width);
  }
  const int rows = predicted_tokens(t);
  const std::int64_t predicted = std::int64_t{rows} * t.width;
  if (is_bert) {
    at = net.linear("pooler", at, 1, t.width, t.width);
    at = net.linear("transform", at, rows, t.width, t.width);
    at = net.norm("transform/norm", at, predicted, t.width);
  }
  at = net.linear("words", at, rows, t.width, t.vocabulary, t.predicts != Predicts::all);
  net.each("loss", LayerKind::softmax, {at}, std::int64_t{rows} * t.vocabulary);
  return net.finish();
}

// Patches of 16x16 pixels and one token more, whose class is predicted.
Graph vit(const std::string& name, const std::string& title, const Transformer& t, Attention attention) {
  constexpr int patch = 16 * 16 * 3;
  TokenGraph net(name, title, t.tokens, patch);
  const std::int64_t elements = std::int64_t{t.tokens} * t.width;
  int at = net.linear("patches", 0, t.tokens - 1, patch, t.width);
  at = net.lookup("positions", at, {elements, t.width}, elements);
  for (int i = 0; i < t.layers; ++i) {
    Block block(net, "l" + std::to_string(i + 1), t.width, t.width / kHeadWidth, attention);
    at = block.attention(at, at, t.tokens, t.tokens);
    at = block.feed_forward(at, t.tokens, 4 * t.width);
  }
  at = net.norm("norm", at, elements, t.width);
  at = net.linear("head", at, 1, t.width, t.vocabulary);
  net.each("loss", LayerKind::softmax, {at}, t.vocabulary);
  return net.finish();
}

// Vaswani et al. 2017: six layers each way; the decoder's look at the encoder's output too. One table of words.
Graph translator(const std::string& name, const std::string& title, int width, int heads, int tokens, int vocabulary,
                 Attention attention) {
  constexpr int layers = 6;
  TokenGraph net(name, title, tokens, width);
  net.count_tokens(2 * tokens);
  const std::int64_t elements = std::int64_t{tokens} * width;
  int encoded = net.lookup("source", 0, {}, elements);
  for (int i = 0; i < layers; ++i) {
    Block block(net, "e" + std::to_string(i + 1), width, heads, attention);
    encoded = block.feed_forward(block.attention(encoded, encoded, tokens, tokens), tokens, 4 * width);
  }
  int at = net.lookup("target", 0, {}, elements);
  for (int i = 0; i < layers; ++i) {
    Block block(net, "d" + std::to_string(i + 1), width, heads, attention);
    at = block.attention(at, at, tokens, tokens);
    at = block.attention(at, encoded, tokens, tokens, "/cross");
    at = block.feed_forward(at, tokens, 4 * width);
  }
  at = net.linear("words", at, tokens, width, vocabulary, false);
  net.each("loss", LayerKind::softmax, {at}, std::int64_t{tokens} * vocabulary);
  return net.finish();
}

struct Named {
  const char* id;
  const char* title;
  Transformer shape;
};

const std::vector<Named>& text_models() {
  static const std::vector<Named> all{
      {"bert_base", "BERT-base, 128 tokens", {12, 768, 128, 30522, Predicts::masked, 512}},
      {"bert_base_384", "BERT-base, 384 tokens", {12, 768, 384, 30522, Predicts::masked, 512}},
      {"bert_base_512", "BERT-base, 512 tokens", {12, 768, 512, 30522, Predicts::masked, 512}},
      {"bert_large", "BERT-large, 128 tokens", {24, 1024, 128, 30522, Predicts::masked, 512}},
      {"bert_large_384", "BERT-large, 384 tokens", {24, 1024, 384, 30522, Predicts::masked, 512}},
      {"bert_large_512", "BERT-large, 512 tokens", {24, 1024, 512, 30522, Predicts::masked, 512}},
      {"roberta_base", "RoBERTa base, 512 tokens", {12, 768, 512, 50265, Predicts::masked, 514}},
      {"roberta_large", "RoBERTa large, 512 tokens", {24, 1024, 512, 50265, Predicts::masked, 514}},
      {"gpt2", "GPT-2, 1,024 tokens", {12, 768, 1024, 50257}},
      {"gpt2_medium", "GPT-2 medium, 1,024 tokens", {24, 1024, 1024, 50257}},
      {"gpt2_large", "GPT-2 large, 1,024 tokens", {36, 1280, 1024, 50257}},
      {"gpt2_xl", "GPT-2 XL, 1,024 tokens", {48, 1600, 1024, 50257}},
      {"gpt3_1b3", "GPT-3 1.3B, 2,048 tokens", {24, 2048, 2048, 50257, Predicts::all, 0, 16}},
      {"gpt3_2b7", "GPT-3 2.7B, 2,048 tokens", {32, 2560, 2048, 50257, Predicts::all, 0, 32}},
      {"gpt3_6b7", "GPT-3 6.7B, 2,048 tokens", {32, 4096, 2048, 50257, Predicts::all, 0, 32}},
      {"gpt3_13b", "GPT-3 13B, 2,048 tokens", {40, 5120, 2048, 50257, Predicts::all, 0, 40}},
      {"megatron_8b3", "Megatron-LM GPT-2 8.3B, 1,024 tokens", {72, 3072, 1024, 50257, Predicts::all, 0, 32}},
      {"megatron_1b2", "Megatron-LM GPT-2 1.2B, 1,024 tokens", {40, 1536, 1024, 50257, Predicts::all, 0, 16}},
  };
  return all;
}

// Fused attention keeps the scores on the chip.
Entry entry(const std::string& name, const std::function<Graph(Attention)>& build) {
  return {name, [=] { return build(Attention::in_passes); }, "attention", [=] { return build(Attention::fused); }};
}

Entry vit_entry(const char* name, const char* title, int layers, int width) {
  const Transformer shape{layers, width, 197, 1000, Predicts::one};
  return entry(name, [=](Attention a) { return vit(name, title, shape, a); });
}

}  // namespace

std::vector<Entry> transformers() {
  std::vector<Entry> all;
  for (const Named& named : text_models())
    all.push_back(
        entry(named.id, [&named](Attention a) { return transformer(named.id, named.title, named.shape, a); }));
  all.push_back(vit_entry("vit_s16", "ViT-S/16 (224x224)", 12, 384));
  all.push_back(vit_entry("vit_b16", "ViT-B/16 (224x224)", 12, 768));
  all.push_back(vit_entry("vit_l16", "ViT-L/16 (224x224)", 24, 1024));
  // Sentences of WMT's English and German have some 28 pieces of words; 32,000 to 37,000 of these are known.
  all.push_back(entry("transformer_base", [](Attention a) {
    return translator("transformer_base", "Transformer base, 28 + 28 tokens", 512, 8, 28, 37000, a);
  }));
  all.push_back(entry("transformer_big", [](Attention a) {
    return translator("transformer_big", "Transformer big, 28 + 28 tokens", 1024, 16, 28, 33708, a);
  }));
  return all;
}

}  // namespace lockstep::model::zoo
