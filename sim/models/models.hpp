#pragma once
// Models that publications name and the zoo does not have, built for their layer shapes alone.
//
// Convolutional networks after their papers, at 224x224 (Inceptions: 299x299). Transformers as a sequence of tokens: a
// token's linear layers are 1x1 convolutions over an "image" of tokens, a layer norm costs what a batch norm does.
#include <string>
#include <vector>

#include "engine/model/graph.hpp"

namespace lockstep::sim {

/// Whether the scores of attention pass through memory or are kept on the chip (Dao et al. 2022).
enum class Attention { in_passes, fused };

/// Names beside those of the zoo.
std::vector<std::string> further_models();
/// They and what they are for, as --list-models shows them behind the zoo.
std::string further_models_text();
/// A model of the zoo or one of these; throws InputError for another name. `attention` is of transformers alone.
const model::Graph& network(const std::string& id, Attention attention = Attention::in_passes);

/// As scenarios name them: a transformer's name with "_fused" behind it is that of fused attention.
const model::Graph& network_named(const std::string& name);
/// The name by which network_named() gives layers of the same costs; empty where there is none.
std::string network_name(const model::Graph& graph);

}  // namespace lockstep::sim
