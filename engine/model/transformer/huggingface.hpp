#pragma once
// Reads an unmodified HuggingFace config.json. Keys that affect neither parameters nor arithmetic are ignored (token
// ids, initialisation, rope scaling, quantisation of a checkpoint). Other keys are understood or refused. For an absent
// key, the default of transformers' configuration class is used and recorded as an assumption.
//
// Architectures, by "model_type": see huggingface_types(). The loss is the one of pre-training. That is next-token
// prediction; masked tokens for BERT and RoBERTa, plus next-sentence prediction for BertForPreTraining; the class for
// ViT. Modules besides the transformer are omitted, such as the multi-token prediction of DeepSeek-V3, and an
// assumption says so.
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/model/transformer/spec.hpp"

namespace lockstep::model {

/// "llama", "mistral", ...
std::vector<std::string> huggingface_types();
/// Whether the object is a HuggingFace configuration: it has a "model_type".
bool is_huggingface(const JsonNode& node);
/// The reason why models of that type are not predicted, as a sentence: "it has state-space layers (Mamba), which are
/// not modelled". Empty if they are, or if the type is unknown.
std::string why_not_modelled(const std::string& model_type);
/// Throws InputError if the object is another kind of file from HuggingFace: PEFT's adapter_config.json, or a
/// configuration of diffusers.
void refuse_other_configuration(const JsonNode& node);
/// Throws InputError for an unknown model type, with the nearest names, and for a value that is not supported.
TransformerSpec transformer_of_huggingface(const JsonNode& node);

}  // namespace lockstep::model
