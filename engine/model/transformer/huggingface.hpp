#pragma once
// A HuggingFace config.json as it is. Keys that say nothing about parameters and arithmetic (token ids, initialisation,
// rope scaling, how a checkpoint is quantised) are read over; those that do are understood or refused. Where one is
// absent, the default of transformers' own configuration class stands in and is noted among the assumptions.
//
// Architectures, by "model_type": see huggingface_types(). The loss is that of pre-training: next tokens; of BERT and
// RoBERTa masked ones, and whether a sentence follows where "architectures" says BertForPreTraining; of ViT the class.
// Modules beside the transformer, such as the multi-token prediction of DeepSeek-V3, are left out, which is noted.
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/model/transformer/spec.hpp"

namespace lockstep::model {

/// "llama", "mistral", ...
std::vector<std::string> huggingface_types();
/// Whether the object is such a configuration: it has a "model_type".
bool is_huggingface(const JsonNode& node);
/// Why models of that type are not predicted, in a plain sentence: "it has state-space layers (Mamba), which are not
/// modelled"; empty: they are, or nothing is known of them.
std::string why_not_modelled(const std::string& model_type);
/// Throws InputError where the object is another file of the same hosts: PEFT's adapter_config.json, a configuration of diffusers.
void refuse_other_configuration(const JsonNode& node);
/// Throws InputError for a model type that is not known, with the nearest; for a value that is not understood.
TransformerSpec transformer_of_huggingface(const JsonNode& node);

}  // namespace lockstep::model
