#pragma once
// Networks that a job says by numbers: another length of sequence of one that is known, and a GPT by its shape.
#include <memory>

#include "sim/job/job.hpp"

namespace lockstep::sim::job {

/// The catalogue's transformer with sequences of so many tokens. nullptr: its sequence cannot be so long.
std::shared_ptr<const OwnModel> at_sequence(const ModelEntry& entry, int tokens);

/// The catalogue's transformer cut off behind so many of its layers, in sequences of `tokens` (0: the entry's). nullptr: it
/// has no more, is none by its numbers, or cannot be so.
std::shared_ptr<const OwnModel> of_layers(const ModelEntry& entry, int layers, int tokens);

/// Layers, hidden features and heads say a GPT as Brown et al. 2020 have it: a feed-forward network of four times the
/// width, biases, learned positions, the table of words before the layers and behind them.
bool says_shape(const ShapeSpec& shape);
/// Parameters and hidden features alone say the layers of such a GPT, 12 h^2 parameters each beside the table of words;
/// heads that are not stated have nearly 128 features, and divide over `tensor` ranks. False: it is left as it was.
bool complete_shape(ShapeSpec& shape, int tensor);
/// Such a GPT, in sequences of the tokens that are stated, else 2048. `name` is for people. nullptr: the numbers are none of a
/// transformer.
std::shared_ptr<const OwnModel> model_of_shape(const ShapeSpec& shape, const std::string& name);

/// What stands in where a shape leaves it open: GPT-2's words, padded as Megatron-LM does (Narayanan et al. 2021).
inline constexpr int kUsualVocabulary = 51200, kUsualTokens = 2048;

}  // namespace lockstep::sim::job
