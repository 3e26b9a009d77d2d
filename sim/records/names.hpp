#pragma once
// Texts of publications, in lower case and word by word: "NVIDIA V100-SXM2-16GB (300W)" is the words nvidia, v100,
// sxm2, 16gb, 300w.
#include <string>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace records {

constexpr std::size_t kLongestSearched = 1000;  ///< characters of a text: regular expressions recurse by character

/// Its letters and digits alone, in lower case; "_" where digits were apart, so that "3 1.3b" is not "3 13b".
std::string squeezed(const std::string& name);
/// Lower case, everything but letters and digits separates; a leading count as in "8xV100" is dropped, and the unit
/// behind a number is a word too ("40GbE" is 40gbe, gbe).
std::vector<std::string> words_of(const std::string& name);

/// `text` contains `part`, both in lower case.
bool mentions(const std::string& text, const std::string& part);

}  // namespace records
}  // namespace lockstep::sim
