// Large language models, each from its numbers. Sources: Llama 2 (Touvron et al. 2023) and 3 (2024), Table 3; Mistral
// 7B (Jiang et al. 2023), Table 1; Mixtral (Jiang et al. 2024), Table 1; DeepSeek-V3 (2024), section 4.2; Qwen2 (2024),
// Table 1; Qwen3 (2025), Tables 1 and 2; LLaMA (Touvron et al. 2023), Table 2; DeepSeek-V2 (2024), section 3.1.2; PaLM
// (Chowdhery et al. 2022), Table 1; BLOOM (2022), Table 3; NVIDIA NeMo, nemo/collections/llm/gpt/model/nemotron.py
// (Nemotron-3, -4); OPT (Zhang et al. 2022), Table 1. All other models, and numbers that a paper leaves out
// (vocabulary, inner width): the model's published config.json. Attention is fused.
#include <utility>

#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

// `context`: tokens per sample in pre-training if known, else the maximum. A sample has `context` tokens, at most 8192.
// The entry in scenarios/catalogue/models.json must have the same number ("tokens").
struct DecoderSizes {
  const char* name;
  const char* title;
  int layers, hidden, heads, kv_heads, inner, vocabulary, context;
  bool tied = false;
};

// Sizes a decoder with RMS norms, rotary positions, a gated feed-forward network and no biases.
TransformerSpec gated_decoder(const DecoderSizes& z) {
  TransformerSpec s;
  s.name = z.name;
  s.title = z.title;
  s.layers = z.layers;
  s.hidden = z.hidden;
  s.heads = z.heads;
  s.kv_heads = z.kv_heads;
  s.head_dim = s.rotary_features = z.hidden / z.heads;
  s.inner = z.inner;
  s.vocabulary = z.vocabulary;
  s.context = z.context;
  s.tied_output = z.tied;
  s.gated = true;
  s.activation = LayerKind::silu;
  s.norm = LayerKind::rms_norm;
  s.positions = PositionKind::rotary;
  return s;
}

// Makes a decoder with two matrices in the feed-forward network and layer norms.
TransformerSpec ungated_decoder(const DecoderSizes& z, LayerKind activation) {
  TransformerSpec s = gated_decoder(z);
  s.gated = false;
  s.activation = activation;
  s.norm = LayerKind::layer_norm;
  return s;
}

TransformerSpec mixtral(const DecoderSizes& z) {
  TransformerSpec s = gated_decoder(z);
  s.mixture.count = 8;
  s.mixture.active = 2;
  s.mixture.inner = z.inner;
  return s;
}

TransformerSpec qwen2(const DecoderSizes& z) {
  TransformerSpec s = gated_decoder(z);
  s.qkv_bias = true;
  return s;
}

TransformerSpec qwen3(const DecoderSizes& z) {
  TransformerSpec s = gated_decoder(z);
  s.head_dim = s.rotary_features = 128;
  s.qk_norm = true;
  return s;
}

TransformerSpec qwen3_moe(const DecoderSizes& z, int expert_width) {
  TransformerSpec s = qwen3(z);
  s.mixture.count = 128;
  s.mixture.active = 8;
  s.mixture.inner = expert_width;
  return s;
}

// NeMo's NemotronConfig: no gate, squared ReLU, layer norm, rotary positions on half of a head's features, no biases.
TransformerSpec nemotron(const DecoderSizes& z) {
  TransformerSpec s = ungated_decoder(z, LayerKind::relu);
  s.rotary_features = s.head_dim / 2;
  return s;
}

// PaLM has one head of keys and values, heads of 256 features, and attention in parallel with the feed-forward network.
TransformerSpec palm(const DecoderSizes& z) {
  TransformerSpec s = gated_decoder(z);
  s.head_dim = s.rotary_features = 256;
  s.norm = LayerKind::layer_norm;
  s.norm_place = NormPlace::parallel;
  return s;
}

// Attention is biased by distance (ALiBi), which costs nothing.
TransformerSpec bloom_176b() {
  TransformerSpec s =
      ungated_decoder({"bloom_176b", "BLOOM 176B", 70, 14336, 112, 112, 57344, 250880, 2048, true}, LayerKind::gelu);
  s.positions = PositionKind::none;
  s.rotary_features = 0;
  s.embedding_norm = s.qkv_bias = s.attention_out_bias = s.inner_bias = true;
  return s;
}

// Zeng et al. 2022, appendix B: norms after each part, GeGLU, and rotary positions. Its bidirectional part of the mask,
// which differs from sample to sample, is neglected.
TransformerSpec glm_130b() {
  TransformerSpec s = gated_decoder({"glm_130b", "GLM 130B", 70, 12288, 96, 96, 32768, 150528, 2048, true});
  s.activation = LayerKind::gelu;
  s.norm = LayerKind::layer_norm;
  s.norm_place = NormPlace::after;
  s.final_norm = false;
  s.qkv_bias = s.attention_out_bias = s.inner_bias = true;
  return s;
}

// Attention is biased by distance (ALiBi), as in BLOOM.
TransformerSpec baichuan2_13b() {
  TransformerSpec s = gated_decoder({"baichuan2_13b", "Baichuan2 13B", 40, 5120, 40, 40, 13696, 125696, 4096});
  s.positions = PositionKind::none;
  s.rotary_features = 0;
  return s;
}

TransformerSpec gemma(const DecoderSizes& z) {
  TransformerSpec s = gated_decoder(z);
  s.head_dim = s.rotary_features = 256;
  s.activation = LayerKind::gelu;
  return s;
}

// Norms come before and after each part. Every second layer has a window of 4,096 tokens.
TransformerSpec gemma2(const DecoderSizes& z, int head_dim) {
  TransformerSpec s = gemma(z);
  s.head_dim = s.rotary_features = head_dim;
  s.norm_place = NormPlace::both;
  for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back(layer % 2 == 0 ? 4096 : 0);
  return s;
}

// Attention and the feed-forward network run in parallel; each has its own norm before it.
TransformerSpec falcon(const DecoderSizes& z) {
  TransformerSpec s = ungated_decoder(z, LayerKind::gelu);
  s.norm_place = NormPlace::parallel;
  return s;
}

// Attention and feed-forward network run in parallel. Biases; rotary positions on a quarter of a head's features.
TransformerSpec gpt_neox(const DecoderSizes& z) {
  TransformerSpec s = falcon(z);
  s.rotary_features = s.head_dim / 4;
  s.qkv_bias = s.attention_out_bias = s.inner_bias = true;
  return s;
}

// As Falcon, but attention and feed-forward network share one norm.
TransformerSpec falcon_7b() {
  TransformerSpec s = falcon({"falcon_7b", "Falcon 7B", 32, 4544, 71, 1, 18176, 65024, 2048, true});
  s.norm_place = NormPlace::parallel_one;
  return s;
}

TransformerSpec gpt_j_6b() {
  TransformerSpec s = falcon({"gpt_j_6b", "GPT-J 6B", 28, 4096, 16, 16, 16384, 50400, 2048});
  s.norm_place = NormPlace::parallel_one;
  s.rotary_features = 64;
  s.inner_bias = s.output_bias = true;
  return s;
}

// The table of learned positions has two extra rows. ReLU; biases everywhere.
TransformerSpec opt(const DecoderSizes& z) {
  TransformerSpec s = ungated_decoder(z, LayerKind::relu);
  s.positions = PositionKind::learned;
  s.rotary_features = 0;
  s.position_rows = z.context + 2;
  s.qkv_bias = s.attention_out_bias = s.inner_bias = s.dropout = true;
  return s;
}

TransformerSpec grok_1() {
  TransformerSpec s = mixtral({"grok_1", "Grok-1", 64, 6144, 48, 8, 32768, 131072, 8192, true});
  s.activation = LayerKind::gelu;
  s.norm_place = NormPlace::both;
  return s;
}

// Every second layer has a window of 128 tokens. Each head learns a score that belongs to no key (a sink). Experts and
// their router have biases.
TransformerSpec gpt_oss(const DecoderSizes& z, int experts) {
  TransformerSpec s = gated_decoder(z);
  s.head_dim = s.rotary_features = 64;
  s.qkv_bias = s.attention_out_bias = true;
  for (int layer = 0; layer < s.layers; ++layer) s.windows.push_back(layer % 2 == 0 ? 128 : 0);
  s.mixture.count = experts;
  s.mixture.active = 4;
  s.mixture.inner = z.inner;
  s.mixture.bias = s.mixture.balancing_bias = s.sinks = true;
  return s;
}

// Each token uses one routed and one shared expert.
TransformerSpec llama4(const DecoderSizes& z, int experts, int every) {
  TransformerSpec s = gated_decoder(z);
  s.head_dim = s.rotary_features = 128;
  s.mixture.count = experts;
  s.mixture.active = 1;
  s.mixture.inner = s.mixture.shared_inner = 8192;
  s.mixture.every = every;
  s.mixture.phase = every - 1;
  return s;
}

struct DeepSeekExperts {
  int count, active, width, shared_width, first_layer;
};

TransformerSpec deepseek(const DecoderSizes& z, int query_rank, const DeepSeekExperts& e) {
  TransformerSpec s = gated_decoder(z);
  s.latent = {512, query_rank, 128, 64, 128};
  s.mixture.count = e.count;
  s.mixture.active = e.active;
  s.mixture.inner = e.width;
  s.mixture.shared_inner = e.shared_width;
  s.mixture.first = e.first_layer;
  return s;
}

// Its module for multi-token prediction is omitted.
TransformerSpec deepseek_v3(const DecoderSizes& z, const DeepSeekExperts& e) {
  TransformerSpec s = deepseek(z, 1536, e);
  s.mixture.balancing_bias = true;
  return s;
}

std::vector<TransformerSpec> all_decoders() {
  std::vector<TransformerSpec> all;
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"llama_7b", "LLaMA 7B", 32, 4096, 32, 32, 11008, 32000, 2048},
                                 {"llama_13b", "LLaMA 13B", 40, 5120, 40, 40, 13824, 32000, 2048},
                                 {"llama_33b", "LLaMA 33B", 60, 6656, 52, 52, 17920, 32000, 2048},
                                 {"llama_65b", "LLaMA 65B", 80, 8192, 64, 64, 22016, 32000, 2048},
                                 {"internlm_7b", "InternLM 7B", 32, 4096, 32, 32, 11008, 103168, 2048},
                                 {"internlm_20b", "InternLM 20B", 60, 5120, 40, 40, 13824, 103168, 4096},
                                 {"tinyllama_1b1", "TinyLlama 1.1B", 22, 2048, 32, 4, 5632, 32000, 2048},
                                 {"codellama_34b", "Code Llama 34B", 48, 8192, 64, 8, 22016, 32000, 16384},
                                 {"aquila2_7b", "Aquila2 7B", 32, 4096, 32, 32, 11008, 100008, 2048},
                                 {"skywork_13b", "Skywork 13B", 52, 4608, 36, 36, 12288, 65519, 4096},
                                 {"yi_6b", "Yi 6B", 32, 4096, 32, 4, 11008, 64000, 4096},
                                 {"yi_34b", "Yi 34B", 60, 7168, 56, 8, 20480, 64000, 4096},
                                 {"baichuan2_7b", "Baichuan2 7B", 32, 4096, 32, 32, 11008, 125696, 4096},
                                 {"llama2_7b", "Llama 2 7B", 32, 4096, 32, 32, 11008, 32000, 4096},
                                 {"llama2_13b", "Llama 2 13B", 40, 5120, 40, 40, 13824, 32000, 4096},
                                 {"llama2_34b", "Llama 2 34B", 48, 8192, 64, 8, 22016, 32000, 4096},
                                 {"llama2_70b", "Llama 2 70B", 80, 8192, 64, 8, 28672, 32000, 4096},
                                 {"llama3_8b", "Llama 3 8B", 32, 4096, 32, 8, 14336, 128256, 8192},
                                 {"llama3_70b", "Llama 3 70B", 80, 8192, 64, 8, 28672, 128256, 8192},
                                 {"llama3_1_8b", "Llama 3.1 8B", 32, 4096, 32, 8, 14336, 128256, 131072},
                                 {"llama3_1_70b", "Llama 3.1 70B", 80, 8192, 64, 8, 28672, 128256, 131072},
                                 {"llama3_1_405b", "Llama 3.1 405B", 126, 16384, 128, 8, 53248, 128256, 131072},
                                 {"llama3_2_1b", "Llama 3.2 1B", 16, 2048, 32, 8, 8192, 128256, 131072, true},
                                 {"llama3_2_3b", "Llama 3.2 3B", 28, 3072, 24, 8, 8192, 128256, 131072, true}})
    all.push_back(gated_decoder(z));
  // sliding_window is 2047 in microsoft/Phi-3-mini-4k-instruct, config.json
  all.push_back(gated_decoder({"phi3_mini", "Phi-3 mini 3.8B", 32, 3072, 32, 32, 8192, 32064, 4096}));
  all.back().windows.assign(32, 2047);
  all.push_back(gated_decoder({"mistral_7b", "Mistral 7B", 32, 4096, 32, 8, 14336, 32000, 8192}));
  all.back().windows.assign(32, 4096);
  all.push_back(mixtral({"mixtral_8x7b", "Mixtral 8x7B", 32, 4096, 32, 8, 14336, 32000, 32768}));
  all.push_back(mixtral({"mixtral_8x22b", "Mixtral 8x22B", 56, 6144, 48, 8, 16384, 32000, 65536}));
  all.push_back(grok_1());
  all.push_back(deepseek({"deepseek_v2", "DeepSeek-V2", 60, 5120, 128, 128, 12288, 102400, 4096}, 1536,
                         {160, 6, 1536, 2 * 1536, 1}));
  all.push_back(deepseek({"deepseek_v2_lite", "DeepSeek-V2-Lite", 27, 2048, 16, 16, 10944, 102400, 4096}, 0,
                         {64, 6, 1408, 2 * 1408, 1}));
  all.push_back(
      deepseek_v3({"deepseek_v3", "DeepSeek-V3", 61, 7168, 128, 128, 18432, 129280, 4096}, {256, 8, 2048, 2048, 3}));
  all.push_back(deepseek_v3({"kimi_k2", "Kimi K2", 61, 7168, 64, 64, 18432, 163840, 4096}, {384, 8, 2048, 2048, 1}));
  all.push_back(llama4({"llama4_scout", "Llama 4 Scout", 48, 5120, 40, 8, 16384, 202048, 262144}, 16, 1));
  all.push_back(llama4({"llama4_maverick", "Llama 4 Maverick", 48, 5120, 40, 8, 16384, 202048, 262144}, 128, 2));
  all.push_back(gpt_oss({"gpt_oss_20b", "gpt-oss 20B", 24, 2880, 64, 8, 2880, 201088, 4096}, 32));
  all.push_back(gpt_oss({"gpt_oss_120b", "gpt-oss 120B", 36, 2880, 64, 8, 2880, 201088, 4096}, 128));
  all.push_back(bloom_176b());
  all.push_back(glm_130b());
  all.push_back(baichuan2_13b());
  all.push_back(gemma({"gemma_2b", "Gemma 2B", 18, 2048, 8, 1, 16384, 256000, 8192, true}));
  all.push_back(gemma({"gemma_7b", "Gemma 7B", 28, 3072, 16, 16, 24576, 256000, 8192, true}));
  all.push_back(gemma2({"gemma2_9b", "Gemma 2 9B", 42, 3584, 16, 8, 14336, 256000, 8192, true}, 256));
  all.push_back(gemma2({"gemma2_27b", "Gemma 2 27B", 46, 4608, 32, 16, 36864, 256000, 8192, true}, 128));
  all.push_back(falcon_7b());
  all.push_back(falcon({"falcon_40b", "Falcon 40B", 60, 8192, 128, 8, 32768, 65024, 2048, true}));
  all.push_back(falcon({"falcon_180b", "Falcon 180B", 80, 14848, 232, 8, 59392, 65024, 2048}));
  all.push_back(gpt_neox({"gpt_neox_20b", "GPT-NeoX 20B", 44, 6144, 64, 64, 24576, 50432, 2048}));
  all.push_back(gpt_neox({"pythia_6b9", "Pythia 6.9B", 32, 4096, 32, 32, 16384, 50432, 2048}));
  all.push_back(gpt_neox({"pythia_12b", "Pythia 12B", 36, 5120, 40, 40, 20480, 50688, 2048}));
  all.push_back(gpt_j_6b());
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"opt_1b3", "OPT 1.3B", 24, 2048, 32, 32, 8192, 50272, 2048, true},
                                 {"opt_6b7", "OPT 6.7B", 32, 4096, 32, 32, 16384, 50272, 2048, true},
                                 {"opt_13b", "OPT 13B", 40, 5120, 40, 40, 20480, 50272, 2048, true},
                                 {"opt_30b", "OPT 30B", 48, 7168, 56, 56, 28672, 50272, 2048, true},
                                 {"opt_66b", "OPT 66B", 64, 9216, 72, 72, 36864, 50272, 2048, true},
                                 {"opt_175b", "OPT 175B", 96, 12288, 96, 96, 49152, 50272, 2048, true}})
    all.push_back(opt(z));
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"nemotron3_8b", "Nemotron-3 8B", 32, 4096, 32, 32, 16384, 256000, 4096},
                                 {"nemotron3_22b", "Nemotron-3 22B", 40, 6144, 48, 48, 24576, 256000, 4096},
                                 {"nemotron4_15b", "Nemotron-4 15B", 32, 6144, 48, 8, 24576, 256000, 4096},
                                 {"nemotron4_340b", "Nemotron-4 340B", 96, 18432, 96, 8, 73728, 256000, 4096}})
    all.push_back(nemotron(z));
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"palm_8b", "PaLM 8B", 32, 4096, 16, 1, 16384, 256000, 2048, true},
                                 {"palm_62b", "PaLM 62B", 64, 8192, 32, 1, 32768, 256000, 2048, true},
                                 {"palm_540b", "PaLM 540B", 118, 18432, 48, 1, 73728, 256000, 2048, true}})
    all.push_back(palm(z));
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"qwen_1_8b", "Qwen 1.8B", 24, 2048, 16, 16, 5504, 151936, 8192},
                                 {"qwen_7b", "Qwen 7B", 32, 4096, 32, 32, 11008, 151936, 8192},
                                 {"qwen_14b", "Qwen 14B", 40, 5120, 40, 40, 13696, 152064, 8192},
                                 {"qwen_72b", "Qwen 72B", 80, 8192, 64, 64, 24576, 152064, 32768},
                                 {"qwen2_0_5b", "Qwen2 0.5B", 24, 896, 14, 2, 4864, 151936, 32768, true},
                                 {"qwen2_1_5b", "Qwen2 1.5B", 28, 1536, 12, 2, 8960, 151936, 32768, true},
                                 {"qwen2_7b", "Qwen2 7B", 28, 3584, 28, 4, 18944, 152064, 32768},
                                 {"qwen2_72b", "Qwen2 72B", 80, 8192, 64, 8, 29568, 152064, 32768},
                                 {"qwen2_5_3b", "Qwen2.5 3B", 36, 2048, 16, 2, 11008, 151936, 32768, true},
                                 {"qwen2_5_14b", "Qwen2.5 14B", 48, 5120, 40, 8, 13824, 152064, 32768},
                                 {"qwen2_5_32b", "Qwen2.5 32B", 64, 5120, 40, 8, 27648, 152064, 32768}})
    all.push_back(qwen2(z));
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"qwen3_0_6b", "Qwen3 0.6B", 28, 1024, 16, 8, 3072, 151936, 32768, true},
                                 {"qwen3_1_7b", "Qwen3 1.7B", 28, 2048, 16, 8, 6144, 151936, 32768, true},
                                 {"qwen3_4b", "Qwen3 4B", 36, 2560, 32, 8, 9728, 151936, 32768, true},
                                 {"qwen3_8b", "Qwen3 8B", 36, 4096, 32, 8, 12288, 151936, 32768},
                                 {"qwen3_14b", "Qwen3 14B", 40, 5120, 40, 8, 17408, 151936, 32768},
                                 {"qwen3_32b", "Qwen3 32B", 64, 5120, 64, 8, 25600, 151936, 32768}})
    all.push_back(qwen3(z));
  all.push_back(qwen3_moe({"qwen3_30b_a3b", "Qwen3 30B-A3B", 48, 2048, 32, 4, 6144, 151936, 32768}, 768));
  all.push_back(qwen3_moe({"qwen3_235b_a22b", "Qwen3 235B-A22B", 94, 4096, 64, 4, 12288, 151936, 32768}, 1536));
  return all;
}

}  // namespace

Entry language_entry(const TransformerSpec& spec) {
  Entry e{spec.name, [=] { return transformer_graph(spec); }, "attention"};
  e.of_sequence = [=](const SequenceJob& job) { return transformer_graph(spec, job); };
  return e;
}

std::vector<Entry> language_models() {
  std::vector<Entry> all;
  for (const TransformerSpec& spec : all_decoders()) all.push_back(language_entry(spec));
  return all;
}

}  // namespace lockstep::model::zoo
