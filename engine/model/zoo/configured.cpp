// Language models of 2024 and later by their HuggingFace configurations: the numbers of each model's config.json on
// huggingface.co that differ from its class's defaults. Attention is fused.
#include "engine/model/transformer/huggingface.hpp"
#include "engine/model/zoo/entries.hpp"

namespace lockstep::model::zoo {
namespace {

struct Configured {
  const char* name;
  const char* title;
  int tokens;  ///< of a sample in pre-training, 8192 at most
  const char* config;
};

const std::vector<Configured>& all_configured() {
  // clang-format off
  static const std::vector<Configured> all{
      {"phi2", "Phi-2 2.7B", 2048,
       R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32, "num_attention_heads": 32})"},
      {"phi3_medium", "Phi-3 medium 14B", 4096,
       R"({"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 10})"},
      {"phi4", "Phi-4 14B", 4096,
       R"({"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 100352})"},
      {"phi4_mini", "Phi-4 mini 3.8B", 4096,
       R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "vocab_size": 200064, "tie_word_embeddings": true, "partial_rotary_factor": 0.75})"},
      {"gemma2_2b", "Gemma 2 2B", 8192, R"({"model_type": "gemma2"})"},
      {"gemma3_1b", "Gemma 3 1B", 8192,
       R"({"model_type": "gemma3_text", "vocab_size": 262144, "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "sliding_window": 512})"},
      {"gemma3_4b", "Gemma 3 4B, its language model", 8192,
       R"({"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "num_attention_heads": 8, "num_key_value_heads": 4, "sliding_window": 1024})"},
      {"gemma3_12b", "Gemma 3 12B, its language model", 8192,
       R"({"model_type": "gemma3_text", "hidden_size": 3840, "intermediate_size": 15360, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8, "sliding_window": 1024})"},
      {"gemma3_27b", "Gemma 3 27B, its language model", 8192,
       R"({"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024})"},
      {"olmo2_1b", "OLMo 2 1B", 4096,
       R"({"model_type": "olmo2", "vocab_size": 100352, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 16})"},
      {"olmo2_7b", "OLMo 2 7B", 4096, R"({"model_type": "olmo2", "vocab_size": 100352})"},
      {"olmo2_13b", "OLMo 2 13B", 4096,
       R"({"model_type": "olmo2", "vocab_size": 100352, "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40, "num_attention_heads": 40})"},
      {"olmo2_32b", "OLMo 2 32B", 4096,
       R"({"model_type": "olmo2", "vocab_size": 100352, "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8})"},
      {"olmo3_7b", "OLMo 3 7B", 8192, R"({"model_type": "olmo3", "vocab_size": 100278})"},
      {"olmo3_32b", "OLMo 3 32B", 8192,
       R"({"model_type": "olmo3", "vocab_size": 100278, "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 40, "num_key_value_heads": 8})"},
      {"olmoe_7b", "OLMoE 1B-7B", 4096, R"({"model_type": "olmoe", "intermediate_size": 1024})"},
      {"glm4_9b", "GLM-4 9B", 8192, R"({"model_type": "glm4", "attention_bias": true})"},
      {"glm4_32b", "GLM-4 32B", 8192,
       R"({"model_type": "glm4", "hidden_size": 6144, "intermediate_size": 23040, "num_hidden_layers": 61, "num_attention_heads": 48})"},
      {"glm4_5_air", "GLM-4.5 Air 106B", 4096,
       R"({"model_type": "glm4_moe", "head_dim": 128, "attention_bias": true})"},
      {"glm4_5", "GLM-4.5 355B", 4096,
       R"({"model_type": "glm4_moe", "head_dim": 128, "attention_bias": true, "use_qk_norm": true, "hidden_size": 5120, "intermediate_size": 12288, "num_hidden_layers": 92, "n_routed_experts": 160, "moe_intermediate_size": 1536, "first_k_dense_replace": 3})"},
      {"minimax_m2", "MiniMax-M2 229B", 8192, R"({"model_type": "minimax_m2"})"},
      {"smollm2_135m", "SmolLM2 135M", 2048,
       R"({"model_type": "llama", "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "tie_word_embeddings": true})"},
      {"smollm2_360m", "SmolLM2 360M", 2048,
       R"({"model_type": "llama", "vocab_size": 49152, "hidden_size": 960, "intermediate_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 15, "num_key_value_heads": 5, "tie_word_embeddings": true})"},
      {"smollm2_1_7b", "SmolLM2 1.7B", 2048,
       R"({"model_type": "llama", "vocab_size": 49152, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 24, "num_attention_heads": 32, "tie_word_embeddings": true})"},
      {"smollm3_3b", "SmolLM3 3B", 4096, R"({"model_type": "smollm3"})"},
      {"mamba_2_8b", "Mamba 2.8B", 2048,
       R"({"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64, "time_step_rank": 160})"},
      {"mamba2_2_7b", "Mamba-2 2.7B", 2048,
       R"({"model_type": "mamba2", "hidden_size": 2560, "num_heads": 80, "n_groups": 1, "vocab_size": 50288, "tie_word_embeddings": true})"},
      {"falcon_mamba_7b", "Falcon Mamba 7B", 8192,
       R"({"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64, "intermediate_size": 8192, "vocab_size": 65024, "time_step_rank": 256, "tie_word_embeddings": false})"},
      {"jamba_52b", "Jamba 52B", 4096, R"({"model_type": "jamba", "mamba_dt_rank": 256})"},
      {"bamba_9b", "Bamba 9B", 4096,
       R"({"model_type": "bamba", "attn_layer_indices": [9, 18, 27], "mamba_d_state": 128, "mamba_n_groups": 1})"},
      {"granite4_h_small", "Granite 4.0 H Small 32B", 4096,
       R"({"model_type": "granitemoehybrid", "vocab_size": 100352, "intermediate_size": 768, "num_hidden_layers": 40, "num_key_value_heads": 8, "num_local_experts": 72, "num_experts_per_tok": 10, "shared_intermediate_size": 1536, "mamba_d_head": 64, "mamba_d_state": 128, "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba"]})"},
      {"nemotron_h_8b", "Nemotron-H 8B", 8192, R"({"model_type": "nemotron_h"})"},
      {"nemotron_h_56b", "Nemotron-H 56B", 8192,
       R"({"model_type": "nemotron_h", "hidden_size": 8192, "intermediate_size": 32768, "num_attention_heads": 64, "mamba_num_heads": 256, "ssm_state_size": 256, "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"})"},
      {"nemotron_nano_9b_v2", "Nemotron Nano 9B v2", 8192,
       R"({"model_type": "nemotron_h", "hidden_size": 4480, "intermediate_size": 15680, "num_attention_heads": 40, "mamba_head_dim": 80, "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"})"},
      {"nemotron3_nano_30b", "Nemotron 3 Nano 30B-A3B", 8192,
       R"({"model_type": "nemotron_h", "hidden_size": 2688, "intermediate_size": 1856, "num_key_value_heads": 2, "mamba_num_heads": 64, "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})"},
      {"qwen3_next_80b", "Qwen3-Next 80B-A3B", 4096, R"({"model_type": "qwen3_next"})"},
      {"minimax_text_01", "MiniMax-Text-01 456B", 8192,
       R"({"model_type": "minimax_text_01", "vocab_size": 200064, "hidden_size": 6144, "intermediate_size": 9216, "num_hidden_layers": 80, "num_attention_heads": 64, "head_dim": 128, "num_local_experts": 32, "rotary_dim": 64, "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]})"},
      {"starcoder2_3b", "StarCoder2 3B", 4096, R"({"model_type": "starcoder2", "sliding_window": 4096})"},
      {"starcoder2_7b", "StarCoder2 7B", 4096,
       R"({"model_type": "starcoder2", "hidden_size": 4608, "intermediate_size": 18432, "num_hidden_layers": 32, "num_attention_heads": 36, "num_key_value_heads": 4, "sliding_window": 4096})"},
      {"starcoder2_15b", "StarCoder2 15B", 4096,
       R"({"model_type": "starcoder2", "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 40, "num_attention_heads": 48, "num_key_value_heads": 4, "sliding_window": 4096, "tie_word_embeddings": false})"},
      {"bloom_560m", "BLOOM 560M", 2048,
       R"({"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16})"},
      {"bloom_7b1", "BLOOM 7.1B", 2048,
       R"({"model_type": "bloom", "hidden_size": 4096, "n_layer": 30, "n_head": 32})"},
      {"pythia_160m", "Pythia 160M", 2048,
       R"({"model_type": "gpt_neox", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50304})"},
      {"pythia_410m", "Pythia 410M", 2048,
       R"({"model_type": "gpt_neox", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 50304})"},
      {"pythia_1b", "Pythia 1B", 2048,
       R"({"model_type": "gpt_neox", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 8, "intermediate_size": 8192, "vocab_size": 50304})"},
      {"pythia_1b4", "Pythia 1.4B", 2048,
       R"({"model_type": "gpt_neox", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 8192, "vocab_size": 50304})"},
      {"pythia_2b8", "Pythia 2.8B", 2048,
       R"({"model_type": "gpt_neox", "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 10240, "vocab_size": 50304})"},
      {"mistral_nemo_12b", "Mistral NeMo 12B", 8192,
       R"({"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 14336, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072, "sliding_window": null})"},
      {"t5_small", "T5 Small", 512,
       R"({"model_type": "t5", "d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "d_kv": 64, "vocab_size": 32128})"},
      {"t5_base", "T5 Base", 512,
       R"({"model_type": "t5", "d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "d_kv": 64, "vocab_size": 32128})"},
      {"t5_large", "T5 Large", 512,
       R"({"model_type": "t5", "d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16, "d_kv": 64, "vocab_size": 32128})"},
      {"t5_3b", "T5 3B", 512,
       R"({"model_type": "t5", "d_model": 1024, "d_ff": 16384, "num_layers": 24, "num_heads": 32, "d_kv": 128, "vocab_size": 32128})"},
      {"t5_11b", "T5 11B", 512,
       R"({"model_type": "t5", "d_model": 1024, "d_ff": 65536, "num_layers": 24, "num_heads": 128, "d_kv": 128, "vocab_size": 32128})"},
      {"mpt_7b", "MPT 7B", 2048,
       R"({"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "expansion_ratio": 4, "vocab_size": 50432})"},
      {"starcoder_15b", "StarCoder 15B", 8192,
       R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152, "multi_query": true})"}};
  // clang-format on
  return all;
}

TransformerSpec spec_of(const Configured& model) {
  const JsonDocument config = JsonDocument::parse(model.config, model.name);
  TransformerSpec spec = transformer_of_huggingface(config.root());
  spec.name = model.name;
  spec.title = model.title;
  spec.context = model.tokens;
  return spec;
}

}  // namespace

std::vector<Entry> configured_language_models() {
  std::vector<Entry> all;
  for (const Configured& model : all_configured()) all.push_back(language_entry(spec_of(model)));
  return all;
}

}  // namespace lockstep::model::zoo
