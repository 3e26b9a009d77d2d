#pragma once
// From a configuration of one family to its numbers; each with the defaults of its class in transformers 4.
#include "engine/model/transformer/config_reader.hpp"
#include "engine/model/transformer/spec.hpp"

namespace lockstep::model::families {

constexpr int kMostLayers = 10'000;

// Decoders with RMS norms, rotary positions and gates (llama_like.cpp).
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

// Those before them: layer norms and biases (gpt_like.cpp).
TransformerSpec gpt2(const ConfigReader& config);
TransformerSpec gpt_neo(const ConfigReader& config);
TransformerSpec gpt_neox(const ConfigReader& config);
TransformerSpec opt(const ConfigReader& config);

// Encoders, and T5 (encoders.cpp).
TransformerSpec bert(const ConfigReader& config);
TransformerSpec roberta(const ConfigReader& config);
TransformerSpec t5(const ConfigReader& config);
TransformerSpec vit(const ConfigReader& config);

/// `total` over `parts`; a remainder is refused at `key`.
int share(const ConfigReader& config, const std::string& key, int total, int parts);

}  // namespace lockstep::model::families
