// Transformers older than fused attention, with a second entry for it: BERT (Devlin et al. 2019), RoBERTa (Liu et al.
// 2019), GPT-2 (Radford et al. 2019), GPT-3's sizes (Brown et al. 2020, Table 2.1), Megatron-LM's (Shoeybi et al.
// 2019), ViT (Dosovitskiy et al. 2021).
//
// Multiply-adds for T tokens and width d: 12 d^2 T for a layer's matrices, 2 T^2 d for its attention, and d V for every
// predicted token, with V words.
#include <string>

#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

constexpr int kHeadWidth = 64;  // the default

struct Sizes {
  const char* id;
  const char* title;
  int layers, width, tokens, vocabulary;
  int context = 0;  // 0: `tokens`
  int heads = 0;    // 0: width / 64
};

// Learned positions, biases and dropout; the inner layer is four times as wide.
TransformerSpec biased(const Sizes& z) {
  TransformerSpec s;
  s.name = z.id;
  s.title = z.title;
  s.layers = z.layers;
  s.hidden = z.width;
  s.heads = s.kv_heads = z.heads > 0 ? z.heads : z.width / kHeadWidth;
  s.head_dim = s.hidden / s.heads;
  s.inner = 4 * z.width;
  s.vocabulary = z.vocabulary;
  s.context = s.position_rows = z.context > 0 ? z.context : z.tokens;
  s.positions = PositionKind::learned;
  s.qkv_bias = s.attention_out_bias = s.inner_bias = true;
  s.dropout = s.attention_dropout = true;
  return s;
}

TransformerSpec gpt(const Sizes& z) {
  TransformerSpec s = biased(z);
  s.tied_output = true;
  return s;
}

// BERT also learns whether one sentence follows another; RoBERTa does not. Two rows of RoBERTa's positions are for
// padding.
TransformerSpec masked(const Sizes& z, bool is_roberta) {
  TransformerSpec s = biased(z);
  s.tied_output = s.output_bias = true;
  s.norm_place = NormPlace::after;
  s.embedding_norm = true;
  s.final_norm = s.causal = false;
  s.token_types = is_roberta ? 1 : 2;
  if (is_roberta) s.position_rows += 2;
  s.objective = is_roberta ? Objective::masked_token : Objective::masked_and_next_sentence;
  return s;
}

// Tokens are patches of 16x16 pixels and a class token, from which the class is predicted.
TransformerSpec vit(const Sizes& z) {
  TransformerSpec s = biased(z);
  s.patches = {224, 16, 3};
  s.output_bias = true;
  s.causal = s.dropout = s.attention_dropout = false;
  s.objective = Objective::image_class;
  return s;
}

// The plain name has unfused attention, as software did when these were trained. Fused attention has its own name.
Entry entry(const TransformerSpec& spec, int tokens) {
  const auto build = [=](bool fused) { return transformer_graph(spec, {tokens, fused}); };
  Entry e{spec.name, [=] { return build(false); }, "attention", [=] { return build(true); }};
  if (spec.patches.image == 0)
    e.of_sequence = [=](const SequenceJob& job) {
      return transformer_graph(spec, {job.tokens > 0 ? job.tokens : tokens, job.fused_attention});
    };
  return e;
}

constexpr int kWords = 30522, kPieces = 50257;  // tokens in the vocabularies of BERT and GPT-2

}  // namespace

std::vector<Entry> transformers() {
  std::vector<Entry> all;
  const auto add = [&](const TransformerSpec& spec, const Sizes& z) { all.push_back(entry(spec, z.tokens)); };
  for (const Sizes& z : std::vector<Sizes>{{"bert_base", "BERT-base", 12, 768, 128, kWords, 512},
                                           {"bert_base_384", "BERT-base", 12, 768, 384, kWords, 512},
                                           {"bert_base_512", "BERT-base", 12, 768, 512, kWords, 512},
                                           {"bert_large", "BERT-large", 24, 1024, 128, kWords, 512},
                                           {"bert_large_384", "BERT-large", 24, 1024, 384, kWords, 512},
                                           {"bert_large_512", "BERT-large", 24, 1024, 512, kWords, 512}})
    add(masked(z, false), z);
  for (const Sizes& z : std::vector<Sizes>{{"roberta_base", "RoBERTa base", 12, 768, 512, 50265, 512},
                                           {"roberta_large", "RoBERTa large", 24, 1024, 512, 50265, 512}})
    add(masked(z, true), z);
  for (const Sizes& z : std::vector<Sizes>{{"gpt2", "GPT-2", 12, 768, 1024, kPieces},
                                           {"gpt2_medium", "GPT-2 medium", 24, 1024, 1024, kPieces},
                                           {"gpt2_large", "GPT-2 large", 36, 1280, 1024, kPieces},
                                           {"gpt2_xl", "GPT-2 XL", 48, 1600, 1024, kPieces},
                                           {"gpt3_125m", "GPT-3 125M", 12, 768, 2048, kPieces},
                                           {"gpt3_350m", "GPT-3 350M", 24, 1024, 2048, kPieces},
                                           {"gpt3_760m", "GPT-3 760M", 24, 1536, 2048, kPieces, 0, 16},
                                           {"gpt3_1b3", "GPT-3 1.3B", 24, 2048, 2048, kPieces, 0, 16},
                                           {"gpt3_2b7", "GPT-3 2.7B", 32, 2560, 2048, kPieces, 0, 32},
                                           {"gpt3_6b7", "GPT-3 6.7B", 32, 4096, 2048, kPieces, 0, 32},
                                           {"gpt3_13b", "GPT-3 13B", 40, 5120, 2048, kPieces, 0, 40},
                                           {"gpt3_5b", "GPT-3 5B of NeMo", 24, 4096, 2048, kPieces, 0, 32},
                                           {"gpt3_20b", "GPT-3 20B of NeMo", 44, 6144, 2048, kPieces, 0, 48},
                                           {"gpt3_175b", "GPT-3 175B", 96, 12288, 2048, kPieces, 0, 96},
                                           {"megatron_8b3", "Megatron-LM GPT-2 8.3B", 72, 3072, 1024, kPieces, 0, 32},
                                           {"megatron_1b2", "Megatron-LM GPT-2 1.2B", 40, 1536, 1024, kPieces, 0, 16}})
    add(gpt(z), z);
  for (const Sizes& z : std::vector<Sizes>{{"vit_s16", "ViT-S/16 (224x224)", 12, 384, 197, 1000},
                                           {"vit_b16", "ViT-B/16 (224x224)", 12, 768, 197, 1000},
                                           {"vit_l16", "ViT-L/16 (224x224)", 24, 1024, 197, 1000}})
    add(vit(z), z);
  return all;
}

}  // namespace lockstep::model::zoo
