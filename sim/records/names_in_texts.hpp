#pragma once
// What the texts of publications name: the translator's reading, for records alone. A job's names are matched whole
// (sim/catalogue); a publication's text says more, and less, than a name.
//
// A text that is an id of the catalogue, spelled as it is there, is that entry. Else an entry's words (in_texts) are
// found in a text when all of one alias are among the text's; of several the alias with the most words counts, and the
// first entry of those with as many. Where no word fits, aliases are looked for in the text without its separators
// ("A100SXM4"), which counts less than one word in full. Texts of more than 1,000 characters name nothing.
#include <optional>
#include <string>

#include "sim/catalogue/catalogue.hpp"

namespace lockstep::sim {
inline namespace records {

/// nullptr: none of the catalogue.
const GpuEntry* gpu_in_text(const Catalogue& catalogue, const std::string& text);
const IntraNodeEntry* intra_node_in_text(const Catalogue& catalogue, const std::string& text);
const NetworkEntry* network_in_text(const Catalogue& catalogue, const std::string& text);
/// nullptr also for a network of another depth than the entry, and for one that has the entry as its backbone.
const ModelEntry* model_in_text(const Catalogue& catalogue, const std::string& text);
/// By keywords; the last entry fits all.
const StackEntry& stack_in_texts(const Catalogue& catalogue, const std::string& texts);

}  // namespace records
}  // namespace lockstep::sim
