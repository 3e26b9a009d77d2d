#pragma once
// Reads configurations of one family each, with the defaults of the family's class in transformers 4.
#include "engine/model/transformer/config_reader.hpp"
#include "engine/model/transformer/spec.hpp"

namespace lockstep::model::families {

constexpr int kMostLayers = 10'000;

/// The class's sizes for absent keys. kv_heads 0 and head_dim 0 mean multi-head attention: kv_heads = heads and
/// head_dim = hidden / heads.
struct DecoderDefaults {
  int vocabulary, hidden, inner, layers, heads, kv_heads, head_dim, context;
  bool tied;
};

/// Reads a decoder with RMS norms, rotary positions, gates and no biases.
TransformerSpec gated_decoder(const ConfigReader& config, const DecoderDefaults& defaults, const char* activation);
/// Sets the windows of layers from "layer_types"; returns false if that key is absent.
bool set_windows_by_type(const ConfigReader& config, int window, TransformerSpec& spec);
void set_all_windows(int window, TransformerSpec& spec);
/// Sets the windows from "layer_types", or without that key those of all layers from number `first` on, from 0.
void set_later_windows(const ConfigReader& config, int window, int first, TransformerSpec& spec);

// llama_like.cpp reads decoders with RMS norms, rotary positions and gates.
TransformerSpec llama(const ConfigReader& config);
TransformerSpec mistral(const ConfigReader& config);
TransformerSpec mixtral(const ConfigReader& config);
TransformerSpec qwen2(const ConfigReader& config);
TransformerSpec qwen3(const ConfigReader& config);
TransformerSpec qwen2_moe(const ConfigReader& config);
TransformerSpec qwen3_moe(const ConfigReader& config);
TransformerSpec gemma(const ConfigReader& config);
TransformerSpec gemma2(const ConfigReader& config);
TransformerSpec deepseek_v2(const ConfigReader& config);
TransformerSpec deepseek_v3(const ConfigReader& config);

// Decoders of 2024 and later (later_decoders.cpp).
TransformerSpec phi3(const ConfigReader& config);
TransformerSpec gemma3(const ConfigReader& config);
TransformerSpec olmo2(const ConfigReader& config);
TransformerSpec olmo3(const ConfigReader& config);
TransformerSpec glm(const ConfigReader& config);
TransformerSpec glm4(const ConfigReader& config);
TransformerSpec smollm3(const ConfigReader& config);
TransformerSpec granite(const ConfigReader& config);

// Later decoders with experts (later_experts.cpp).
TransformerSpec llama4(const ConfigReader& config);
TransformerSpec gpt_oss(const ConfigReader& config);
TransformerSpec glm4_moe(const ConfigReader& config);
TransformerSpec minimax_m2(const ConfigReader& config);
TransformerSpec olmoe(const ConfigReader& config);

// Decoders after GPT-3 with layer norms and no gate (ungated_decoders.cpp).
TransformerSpec falcon(const ConfigReader& config);
TransformerSpec bloom(const ConfigReader& config);
TransformerSpec gptj(const ConfigReader& config);
TransformerSpec phi(const ConfigReader& config);
TransformerSpec gpt_bigcode(const ConfigReader& config);
TransformerSpec starcoder2(const ConfigReader& config);

// gpt_like.cpp reads earlier decoders, which have layer norms and biases.
TransformerSpec gpt2(const ConfigReader& config);
TransformerSpec gpt_neo(const ConfigReader& config);
TransformerSpec gpt_neox(const ConfigReader& config);
TransformerSpec opt(const ConfigReader& config);

// Decoders that carry a state from token to token (hybrid.cpp).
TransformerSpec mamba(const ConfigReader& config);
TransformerSpec falcon_mamba(const ConfigReader& config);
TransformerSpec mamba2(const ConfigReader& config);
TransformerSpec jamba(const ConfigReader& config);
TransformerSpec bamba(const ConfigReader& config);
TransformerSpec granite_hybrid(const ConfigReader& config);
TransformerSpec nemotron_h(const ConfigReader& config);
/// Sets `spec.layers` and `spec.layer_parts` from a pattern with one letter per layer: M Mamba-2, * attention, - feed-forward
/// network, E experts. Throws InputError for any other letter.
void read_layer_pattern(const ConfigReader& config, const std::string& key, const std::string& pattern,
                        TransformerSpec& spec);
TransformerSpec qwen3_next(const ConfigReader& config);
TransformerSpec qwen3_5(const ConfigReader& config);
TransformerSpec qwen3_5_moe(const ConfigReader& config);
TransformerSpec minimax(const ConfigReader& config);

// Decoders of other families (other_decoders.cpp).
TransformerSpec internlm2(const ConfigReader& config);
TransformerSpec baichuan(const ConfigReader& config);
TransformerSpec seed_oss(const ConfigReader& config);
TransformerSpec stablelm(const ConfigReader& config);
TransformerSpec cohere(const ConfigReader& config);
TransformerSpec nemotron(const ConfigReader& config);
TransformerSpec mpt(const ConfigReader& config);
TransformerSpec phimoe(const ConfigReader& config);
TransformerSpec dbrx(const ConfigReader& config);

// Decoders of further publishers (further_decoders.cpp).
TransformerSpec olmo(const ConfigReader& config);
TransformerSpec exaone(const ConfigReader& config);
TransformerSpec exaone4(const ConfigReader& config);
TransformerSpec cohere2(const ConfigReader& config);
TransformerSpec ernie4_5(const ConfigReader& config);
TransformerSpec ernie4_5_moe(const ConfigReader& config);
TransformerSpec apertus(const ConfigReader& config);
TransformerSpec arcee(const ConfigReader& config);
TransformerSpec hunyuan_dense(const ConfigReader& config);
TransformerSpec dots1(const ConfigReader& config);
TransformerSpec deepseek_v1(const ConfigReader& config);
TransformerSpec chatglm(const ConfigReader& config);
TransformerSpec xglm(const ConfigReader& config);
TransformerSpec ministral3(const ConfigReader& config);
TransformerSpec glm4_moe_lite(const ConfigReader& config);

// Configurations with Megatron-LM's keys (megatron.cpp).
TransformerSpec megatron(const ConfigReader& config);

// Encoders, and encoder-decoders (encoders.cpp).
TransformerSpec bert(const ConfigReader& config);
TransformerSpec roberta(const ConfigReader& config);
TransformerSpec xlm_roberta(const ConfigReader& config);
TransformerSpec distilbert(const ConfigReader& config);
TransformerSpec t5(const ConfigReader& config);
TransformerSpec mt5(const ConfigReader& config);
TransformerSpec bart(const ConfigReader& config);
TransformerSpec vit(const ConfigReader& config);

/// Returns `total` / `parts`; throws InputError at `key` if there is a remainder.
int share(const ConfigReader& config, const std::string& key, int total, int parts);

}  // namespace lockstep::model::families
