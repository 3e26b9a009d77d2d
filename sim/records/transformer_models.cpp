// Transformers: BERT (Devlin et al. 2019), GPT-2 (Radford et al. 2019), GPT-3's sizes (Brown et al. 2020, Table 2.1),
// ViT (Dosovitskiy et al. 2021).
//
// Multiply-adds of a sequence of T tokens, width d: 12 d^2 T of a layer's matrices, 2 T^2 d of its attention, and d V
// for every token whose word is predicted, of V words. What attention reads and writes beside that is left out, as if
// it were fused (Dao et al. 2022).
#include <cmath>
#include <string>

#include "engine/model/zoo_blocks.hpp"
#include "sim/records/model_tables.hpp"

namespace lockstep::sim {
namespace {

using model::Graph;
using model::GraphBuilder;
using model::zoo::square;

constexpr double kMasked = 0.15;  // of BERT's tokens, which are predicted

enum class Predicts { masked, all, one };

struct Transformer {
  int layers, width, tokens, vocabulary;
  Predicts predicts = Predicts::all;
};

double predicted_tokens(const Transformer& t) {
  switch (t.predicts) {
    case Predicts::masked:
      return std::ceil(kMasked * t.tokens);
    case Predicts::all:
      return t.tokens;
    case Predicts::one:
      break;
  }
  return 1;
}

// The table of words, shared with the loss, stands at the end: its gradient is dense. Tables of positions are left out.
Graph transformer(const std::string& name, const std::string& title, const Transformer& t) {
  GraphBuilder net(name, title, {t.width, t.tokens, 1});
  int at = 0;
  std::vector<int> attentions;
  for (int i = 0; i < t.layers; ++i) {
    const std::string layer = "l" + std::to_string(i + 1);
    const auto linear = [&](const char* part, int from, int out) {
      return net.conv(layer + part, from, out, square(1), true);
    };
    // The sum stands for attention, which has no parameters.
    const int attention = net.add(layer + "/attention",
                                  {linear("/q", at, t.width), linear("/k", at, t.width), linear("/v", at, t.width)});
    attentions.push_back(attention);
    int out = net.dropout(layer + "/drop1", linear("/out", attention, t.width));
    at = net.batch_norm(layer + "/norm1", net.add(layer + "/add1", {out, at}));
    out = net.relu(layer + "/gelu", linear("/up", at, 4 * t.width));
    out = net.dropout(layer + "/drop2", linear("/down", out, t.width));
    at = net.batch_norm(layer + "/norm2", net.add(layer + "/add2", {out, at}));
  }
  const int words = net.fc("words", net.global_avg_pool("pool", at), t.vocabulary);
  net.softmax("loss", words);
  Graph graph = net.finish();
  for (const int attention : attentions)
    graph.layers[static_cast<std::size_t>(attention)].macs = std::int64_t{2} * t.tokens * t.tokens * t.width;
  model::Layer& last = graph.layers[static_cast<std::size_t>(words)];
  last.macs = static_cast<std::int64_t>(static_cast<double>(last.macs) * predicted_tokens(t));
  return graph;
}

Graph bert_base(const char* name, int tokens) {
  return transformer(name, "BERT-base, " + std::to_string(tokens) + " tokens",
                     {12, 768, tokens, 30522, Predicts::masked});
}

Graph bert_large(const char* name, int tokens) {
  return transformer(name, "BERT-large, " + std::to_string(tokens) + " tokens",
                     {24, 1024, tokens, 30522, Predicts::masked});
}

}  // namespace

const std::vector<FurtherModel>& transformer_models() {
  static const std::vector<FurtherModel> all{
      {"bert_base", [] { return bert_base("bert_base", 128); }},
      {"bert_base_384", [] { return bert_base("bert_base_384", 384); }},
      {"bert_base_512", [] { return bert_base("bert_base_512", 512); }},
      {"bert_large", [] { return bert_large("bert_large", 128); }},
      {"bert_large_384", [] { return bert_large("bert_large_384", 384); }},
      {"bert_large_512", [] { return bert_large("bert_large_512", 512); }},
      {"gpt2",
       [] {
         return transformer("gpt2", "GPT-2, 1,024 tokens", {12, 768, 1024, 50257});
       }},
      {"gpt2_medium",
       [] {
         return transformer("gpt2_medium", "GPT-2 medium, 1,024 tokens", {24, 1024, 1024, 50257});
       }},
      {"gpt2_large",
       [] {
         return transformer("gpt2_large", "GPT-2 large, 1,024 tokens", {36, 1280, 1024, 50257});
       }},
      {"gpt2_xl",
       [] {
         return transformer("gpt2_xl", "GPT-2 XL, 1,024 tokens", {48, 1600, 1024, 50257});
       }},
      {"gpt3_1b3",
       [] {
         return transformer("gpt3_1b3", "GPT-3 1.3B, 2,048 tokens", {24, 2048, 2048, 50257});
       }},
      {"gpt3_2b7",
       [] {
         return transformer("gpt3_2b7", "GPT-3 2.7B, 2,048 tokens", {32, 2560, 2048, 50257});
       }},
      {"gpt3_6b7",
       [] {
         return transformer("gpt3_6b7", "GPT-3 6.7B, 2,048 tokens", {32, 4096, 2048, 50257});
       }},
      {"vit_b16",
       [] {
         return transformer("vit_b16", "ViT-B/16 (224x224)", {12, 768, 197, 1000, Predicts::one});
       }},
      {"vit_l16",
       [] {
         return transformer("vit_l16", "ViT-L/16 (224x224)", {24, 1024, 197, 1000, Predicts::one});
       }},
  };
  return all;
}

}  // namespace lockstep::sim
