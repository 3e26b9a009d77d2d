#pragma once
// Makes networks that a job describes by numbers: a known model with another length of sequence or fewer layers, and a
// GPT by its shape. `models` shares them between jobs.
#include <memory>

#include "sim/job/job.hpp"

namespace lockstep::sim::job {

/// Returns the catalogue's transformer with sequences of `tokens` tokens, from `models` if it was made before. nullptr: it
/// cannot have such long ones.
std::shared_ptr<const OwnModel> find_with_sequence(const ModelEntry& entry, int tokens, OwnModels& models);

/// Returns the catalogue's transformer with only its first `layers` layers, in sequences of `tokens` (0: the entry's).
/// Returns nullptr if it has no more layers than that, if the catalogue does not describe it by numbers, or if the
/// result cannot be built.
std::shared_ptr<const OwnModel> of_layers(const ModelEntry& entry, int layers, int tokens, OwnModels& models);

/// True if the numbers of layers, hidden features and heads are given. They define a GPT as in Brown et al. 2020: a
/// feed-forward network of four times the width, biases, learned positions, and one table of embeddings for input and
/// output.
bool says_shape(const ShapeSpec& shape);
/// Derives the layers of such a GPT from its parameters and hidden features: 12 h^2 parameters per layer, plus the
/// table of embeddings. Heads that are not given get about 128 features each; `tensor` ranks divide their number.
/// Returns false if that is impossible, and leaves `shape` unchanged.
bool complete_shape(ShapeSpec& shape, int tensor);
/// Builds such a GPT, with sequences of the given length or 2048 tokens. `name` appears in output. nullptr: these
/// numbers make no transformer.
std::shared_ptr<const OwnModel> model_of_shape(const ShapeSpec& shape, const std::string& name, OwnModels& models);

/// Defaults of a shape: GPT-2's vocabulary, padded as Megatron-LM does (Narayanan et al.
/// 2021).
inline constexpr int kUsualVocabulary = 51200, kUsualTokens = 2048;

}  // namespace lockstep::sim::job
