#pragma once
// Networks that a job says by numbers: another length of sequence of one that is known, and a GPT by its shape.
#include <memory>

#include "sim/records/job_spec.hpp"

namespace lockstep::sim {
inline namespace records {

/// The catalogue's transformer with sequences of so many tokens. nullptr: its sequence cannot be so long.
std::shared_ptr<const OwnModel> at_sequence(const ModelEntry& entry, int tokens);

/// Layers, hidden features and heads say a GPT as Brown et al. 2020 have it: a feed-forward network of four times the
/// width, biases, learned positions, the table of words before the layers and behind them.
bool says_shape(const ShapeSpec& shape);
/// Such a GPT, in sequences of the tokens that are stated, else 2048. `name` is for people. nullptr: the numbers are none of a
/// transformer.
std::shared_ptr<const OwnModel> model_of_shape(const ShapeSpec& shape, const std::string& name);

/// What stands in where a shape leaves it open: GPT-2's words, padded as Megatron-LM does (Narayanan et al. 2021).
inline constexpr int kUsualVocabulary = 51200, kUsualTokens = 2048;

}  // namespace records
}  // namespace lockstep::sim
