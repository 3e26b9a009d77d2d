#pragma once
// The distance between two texts.
#include <string>

namespace lockstep {

/// Levenshtein distance: the smallest number of insertions, deletions and replacements of a character that turns one
/// text into the other. Computed row by row (Wagner & Fischer 1974).
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace lockstep
