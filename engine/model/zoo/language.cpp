// Large language models, each from its numbers. Sources: Llama 2 (Touvron et al. 2023) and 3 (2024), Table 3; Mistral 7B
// (Jiang et al. 2023), Table 1; Mixtral (Jiang et al. 2024), Table 1; DeepSeek-V3 (2024), section 4.2; Qwen2 (2024),
// Table 1; Qwen3 (2025), Tables 1 and 2; where a paper leaves out a number (vocabulary, width of the inner layer), the
// model's published config.json. Attention is fused, as all of them were trained.
#include <utility>

#include "engine/model/transformer/spec.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

struct DecoderSizes {
  const char* name;
  const char* title;
  int layers, hidden, heads, kv_heads, inner, vocabulary, context;
  bool tied = false;
};

// RMS norms, rotary positions, a gate in the feed-forward network, no biases.
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

// Without its module of multi-token prediction.
TransformerSpec deepseek_v3() {
  TransformerSpec s = gated_decoder({"deepseek_v3", "DeepSeek-V3", 61, 7168, 128, 128, 18432, 129280, 4096});
  s.latent = {512, 1536, 128, 64, 128};
  s.mixture.count = 256;
  s.mixture.active = 8;
  s.mixture.inner = s.mixture.shared_inner = 2048;
  s.mixture.balancing_bias = true;
  s.mixture.first = 3;
  return s;
}

std::vector<TransformerSpec> all_decoders() {
  std::vector<TransformerSpec> all;
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"llama2_7b", "Llama 2 7B", 32, 4096, 32, 32, 11008, 32000, 4096},
                                 {"llama2_13b", "Llama 2 13B", 40, 5120, 40, 40, 13824, 32000, 4096},
                                 {"llama2_70b", "Llama 2 70B", 80, 8192, 64, 8, 28672, 32000, 4096},
                                 {"llama3_8b", "Llama 3 8B", 32, 4096, 32, 8, 14336, 128256, 8192},
                                 {"llama3_70b", "Llama 3 70B", 80, 8192, 64, 8, 28672, 128256, 8192},
                                 {"llama3_1_8b", "Llama 3.1 8B", 32, 4096, 32, 8, 14336, 128256, 131072},
                                 {"llama3_1_70b", "Llama 3.1 70B", 80, 8192, 64, 8, 28672, 128256, 131072},
                                 {"llama3_1_405b", "Llama 3.1 405B", 126, 16384, 128, 8, 53248, 128256, 131072}})
    all.push_back(gated_decoder(z));
  all.push_back(gated_decoder({"mistral_7b", "Mistral 7B", 32, 4096, 32, 8, 14336, 32000, 8192}));
  all.back().windows.assign(32, 4096);
  all.push_back(mixtral({"mixtral_8x7b", "Mixtral 8x7B", 32, 4096, 32, 8, 14336, 32000, 32768}));
  all.push_back(mixtral({"mixtral_8x22b", "Mixtral 8x22B", 56, 6144, 48, 8, 16384, 32000, 65536}));
  all.push_back(deepseek_v3());
  for (const DecoderSizes& z :
       std::vector<DecoderSizes>{{"qwen2_0_5b", "Qwen2 0.5B", 24, 896, 14, 2, 4864, 151936, 32768, true},
                                 {"qwen2_1_5b", "Qwen2 1.5B", 28, 1536, 12, 2, 8960, 151936, 32768, true},
                                 {"qwen2_7b", "Qwen2 7B", 28, 3584, 28, 4, 18944, 152064, 32768},
                                 {"qwen2_72b", "Qwen2 72B", 80, 8192, 64, 8, 29568, 152064, 32768}})
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

Entry entry(const TransformerSpec& spec) {
  Entry e{spec.name, [=] { return transformer_graph(spec); }, "attention"};
  e.of_sequence = [=](const SequenceJob& job) { return transformer_graph(spec, job); };
  return e;
}

}  // namespace

std::vector<Entry> language_models() {
  std::vector<Entry> all;
  for (const TransformerSpec& spec : all_decoders()) all.push_back(entry(spec));
  return all;
}

}  // namespace lockstep::model::zoo
