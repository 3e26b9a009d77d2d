#include "sim/records/names.hpp"

#include <algorithm>
#include <cctype>

#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

// "8xV100" -> "v100"; "8x" -> "". ResNeXt's "64x4d" stays.
std::string without_count(const std::string& word) {
  std::size_t digits = 0;
  while (digits < word.size() && std::isdigit(static_cast<unsigned char>(word[digits]))) ++digits;
  if (digits == 0 || digits >= word.size() || word[digits] != 'x' || word.substr(digits) == "xlarge") return word;
  const std::string rest = word.substr(digits + 1);
  const bool is_cardinality =
      rest.size() > 1 && rest.find_first_not_of("0123456789") == rest.size() - 1 && rest.back() == 'd';
  return is_cardinality ? word : rest;
}

// "40gbe" -> "gbe"; "" where there is no unit of two letters behind a number.
std::string unit_of(const std::string& word) {
  std::size_t digits = 0;
  while (digits < word.size() && std::isdigit(static_cast<unsigned char>(word[digits]))) ++digits;
  return digits > 0 && digits + 2 <= word.size() ? word.substr(digits) : "";
}

}  // namespace

std::string squeezed(const std::string& name) {
  std::string letters;
  bool is_apart = false;
  for (char c : lower_case(name)) {
    if (!std::isalnum(static_cast<unsigned char>(c))) {
      is_apart = true;
      continue;
    }
    const bool between_digits = is_apart && !letters.empty() && std::isdigit(static_cast<unsigned char>(c)) &&
                                std::isdigit(static_cast<unsigned char>(letters.back()));
    if (between_digits) letters += '_';
    letters += c;
    is_apart = false;
  }
  return letters;
}

bool mentions(const std::string& text, const std::string& part) {
  return lower_case(text).find(part) != std::string::npos;
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::string word;
  for (char c : lower_case(name) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
    } else if (!word.empty()) {
      word = without_count(word);
      if (!word.empty()) words.push_back(word);
      if (const std::string unit = unit_of(word); !unit.empty()) words.push_back(unit);
      word.clear();
    }
  }
  return words;
}

}  // namespace records
}  // namespace lockstep::sim
