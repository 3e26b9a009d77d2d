// GNMT (Wu et al. 2016) in the smaller form of MLPerf's reference: an encoder and a decoder of four layers with 1,024
// LSTM cells each. The encoder's first layer is bidirectional. Attention is that of Bahdanau et al. 2015.
//
// A layer's input is multiplied for all tokens at once. Its recurrent input is multiplied token by token, with a matrix
// that all tokens share. Sentences have about 28 subwords in each language, from a vocabulary of 32,317.
#include <string>

#include "engine/model/zoo/entries.hpp"
#include "engine/model/zoo/token_graph.hpp"

namespace lockstep::model::zoo {
namespace {

constexpr int kWidth = 1024, kTokens = 28, kVocabulary = 32317;

class Gnmt {
 public:
  Graph build() {
    net_.count_tokens(2 * kTokens);
    const int words = net_.lookup("embeddings", 0, {std::int64_t{kVocabulary} * kWidth}, kElements);
    const int both = net_.each("e1", LayerKind::concat,
                               {lstm("e1/forward", words, kWidth), lstm("e1/back", words, kWidth)}, 2 * kElements);
    int at = lstm("e2", both, 2 * kWidth);
    for (const char* name : {"e3", "e4"}) at = added(name, lstm(name, at, kWidth), at);
    const int encoded = at;
    const int target = net_.lookup("target", 0, {}, kElements);
    at = lstm("d1", target, kWidth);
    const int context = attention(at, encoded);
    for (const char* name : {"d2", "d3", "d4"}) {
      const std::string n(name);
      const int joined = net_.each(n + "/concat", LayerKind::concat, {at, context}, 2 * kElements);
      const int out = lstm(n, net_.each(n + "/drop", LayerKind::dropout, {joined}, 2 * kElements), 2 * kWidth);
      at = n == "d2" ? out : added(n, out, at);
    }
    at = net_.linear("words", at, kTokens, kWidth, kVocabulary);
    net_.each("loss", LayerKind::softmax, {at}, std::int64_t{kTokens} * kVocabulary);
    return net_.finish();
  }

 private:
  static constexpr std::int64_t kElements = std::int64_t{kTokens} * kWidth;

  int added(const std::string& n, int out, int at) {
    return net_.each(n + "/add", LayerKind::add, {out, at}, kElements);
  }

  // Four gates, computed from the input and the last output; two biases.
  int lstm(const std::string& n, int from, int in) {
    int at = net_.linear(n + "/in", from, kTokens, in, 4 * kWidth);
    for (int token = 0; token < kTokens; ++token) {
      const std::string step = n + "/" + std::to_string(token + 1);
      at = token == 0 ? net_.linear(step, at, 1, kWidth, 4 * kWidth) : net_.tied(step, at, 1, kWidth, 4 * kWidth);
      at = net_.each(step + "/gates", LayerKind::relu, {at}, 4 * kWidth);
    }
    return at;
  }

  // Compares every target token's query with every source token's key by a tanh layer (additive attention).
  int attention(int queries, int encoded) {
    const int q = net_.linear("attention/q", queries, kTokens, kWidth, kWidth, false);
    const int k = net_.linear("attention/k", encoded, kTokens, kWidth, kWidth, false);
    const int sums = net_.each("attention/tanh", LayerKind::relu, {q, k}, kTokens * kElements);
    const int scores = net_.linear("attention/score", sums, kTokens * kTokens, kWidth, 1, false);
    return net_.product("attention/context", {scores, encoded}, kTokens * kElements, kElements, kElements);
  }

  TokenGraph net_{"gnmt", "GNMT v2, 28 + 28 tokens", kTokens, kWidth};
};

}  // namespace

std::vector<Entry> recurrent_networks() {
  return {{"gnmt", [] { return Gnmt().build(); }, "LSTM cells and attention"}};
}

}  // namespace lockstep::model::zoo
