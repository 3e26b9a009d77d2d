#pragma once
// Parts of texts that the readers of launch files share: names, numbers, blanks, endings.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/text.hpp"

namespace lockstep::sim::launch {

inline bool is_among(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

inline bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

/// Whether a variable's name may contain the character.
inline bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/// Whether it is a blank within a line.
inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Removes blanks and newlines around the text.
inline std::string without_blanks(const std::string& text) {
  const char* const blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Replaces the line ends of Windows by newlines.
inline std::string with_newlines(const std::string& text) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') lines += text[i];
  return lines;
}

/// Whether it is a number of at most `most` digits and nothing else.
inline bool is_count(const std::string& text, std::size_t most = 7) {
  return !text.empty() && text.size() <= most && std::all_of(text.begin(), text.end(), is_digit);
}

inline std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// The lines of a text, without an empty one behind the last newline.
inline std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines = parts_of(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// Returns the text behind the last separator, or the whole text: "c" for "a/b/c".
inline std::string last_part_of(const std::string& text, char separator = '/') {
  return text.substr(text.rfind(separator) + 1);
}

}  // namespace lockstep::sim::launch
