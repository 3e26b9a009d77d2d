#pragma once
// How far one text is from another.
#include <string>

namespace lockstep {

/// Levenshtein's distance: the fewest insertions, deletions and replacements of a character that make one text the
/// other, row by row of the table of Wagner & Fischer (1974).
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace lockstep
