#include "sim/job/software_name.hpp"

#include <algorithm>
#include <sstream>

#include "engine/base/text.hpp"

namespace lockstep::sim::job {
namespace {

constexpr std::size_t kLongest = 200;  // characters; no name is longer than this

std::vector<std::string> between_blanks(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string in_a_row(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Replaces joints by blanks: "2.1.0+cu118" is one word, "FSDP+compile" two.
std::string without_joints(const std::string& text) {
  std::string apart;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_of_build = text[i] == '+' && i > 0 && is_digit(text[i - 1]);
    const bool is_joint = (text[i] == '+' && !is_of_build) || text[i] == ',' || text[i] == '&';
    apart += is_joint ? ' ' : text[i];
  }
  std::vector<std::string> words;
  for (const std::string& word : between_blanks(apart))
    if (word != "with" && word != "and") words.push_back(word);
  return in_a_row(words);
}

// Returns the end of the version's first number; 0: the word is no version.
std::size_t major_of(const std::string& word) {
  const std::size_t begin = word.rfind('v', 0) == 0 ? 1 : 0;
  const std::string number = word.substr(0, std::min(word.find('+'), word.size()));
  std::size_t end = begin;
  while (end < number.size() && is_digit(number[end])) ++end;
  if (end == begin) return 0;
  const bool is_version = std::all_of(number.begin() + static_cast<std::ptrdiff_t>(end), number.end(),
                                      [](char c) { return is_digit(c) || c == '.'; });
  return is_version ? end : 0;
}

}  // namespace

std::vector<std::string> software_spellings(const std::string& text) {
  if (text.size() > kLongest) return {text};
  std::vector<std::string> majors, names;
  for (const std::string& word : between_blanks(without_joints(text))) {
    const std::size_t major = major_of(word);
    majors.push_back(major > 0 ? word.substr(0, major) : word);
    if (major == 0) names.push_back(word);
  }
  std::vector<std::string> all{text};
  for (const std::string& spelling : {without_joints(text), in_a_row(majors), in_a_row(names)})
    if (!spelling.empty() && spelling != all.back()) all.push_back(spelling);
  return all;
}

SoftwareName software_named(const std::string& text, const Catalogue& catalogue) {
  const std::string whole = without_joints(text.substr(0, kLongest));
  for (const std::string& spelling : software_spellings(text))
    if (const StackEntry* entry = catalogue.stacks.named(spelling))
      return {entry, spelling != text && spelling != whole};
  return {};
}

}  // namespace lockstep::sim::job
