// Operators on the value of a variable: "${NAME%.sh}", "${NAME//a/b}", "${NAME^^}".
#include <algorithm>
#include <cctype>
#include <cstdint>

#include "engine/base/text.hpp"
#include "sim/launch/shell_tests.hpp"
#include "sim/launch/shell_tokens.hpp"
#include "sim/launch/shell_values.hpp"
#include "sim/launch/words.hpp"

namespace lockstep::sim::launch {
namespace {

constexpr std::size_t kLongestTransformed = 4096, kLongestSearched = 256;

std::string removed(const std::string& value, const std::string& op, const std::string& pattern) {
  const bool is_front = op.front() == '#', is_longest = op.size() == 2;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const std::size_t length = is_longest ? value.size() - i : i;
    const std::string part = is_front ? value.substr(0, length) : value.substr(value.size() - length);
    if (matches_pattern(part, pattern)) return is_front ? value.substr(length) : value.substr(0, value.size() - length);
  }
  return value;
}

// Replaces the longest match at each place.
std::string replaced(const std::string& value, const std::string& pattern, const std::string& by, bool replaces_all) {
  std::string result;
  const bool is_fixed = pattern.find('*') == std::string::npos;  // all matches are as long as the pattern
  bool is_done = pattern.empty();
  for (std::size_t i = 0; i < value.size();) {
    const std::size_t rest = value.size() - i;
    std::size_t length = is_done || (is_fixed && rest < pattern.size()) ? 0 : is_fixed ? pattern.size() : rest;
    if (is_fixed && length > 0 && !matches_pattern(value.substr(i, length), pattern)) length = 0;
    while (length > 0 && !is_fixed && !matches_pattern(value.substr(i, length), pattern)) --length;
    if (length == 0) {
      result += value[i++];
      continue;
    }
    result += by;
    i += length;
    is_done = !replaces_all;
  }
  return result;
}

std::optional<std::string> transformed(const std::string& value, const std::string& op, const std::string& pattern,
                                       const std::string& replacement) {
  if (pattern.find_first_of("[\\") != std::string::npos || value.size() > kLongestTransformed) return std::nullopt;
  if (op.front() == '#' || op.front() == '%') return removed(value, op, pattern);
  if (op.front() == '/') return replaced(value, pattern, replacement, op == "//");
  if (!pattern.empty()) return std::nullopt;
  std::string text = value;
  const std::size_t count = op.size() == 2 ? text.size() : std::min<std::size_t>(1, text.size());
  for (std::size_t i = 0; i < count; ++i)
    text[i] = static_cast<char>(op.front() == '^' ? std::toupper(static_cast<unsigned char>(text[i]))
                                                  : std::tolower(static_cast<unsigned char>(text[i])));
  return text;
}

}  // namespace

std::optional<Word> element_of(const std::string& name, const std::string& subscript, Variables& variables,
                               const Place& place) {
  const auto table = variables.tables.find(name);
  if (table != variables.tables.end()) {
    const auto found = table->second.find(expand_to_one(subscript, variables, place).text);
    return found == table->second.end() ? std::nullopt : std::optional<Word>(found->second);
  }
  const auto index = evaluate(subscript, variables, place);
  const Value* const value = variables.find(name);
  if (value == nullptr || !index || *index < 0 || *index >= static_cast<std::int64_t>(value->size()))
    return std::nullopt;
  return (*value)[static_cast<std::size_t>(*index)];
}

std::optional<std::pair<std::size_t, std::size_t>> range_of(const std::string& rest, std::size_t size,
                                                            Variables& variables, const Place& place) {
  const std::size_t colon = rest.find(':', 1);
  const std::int64_t all = static_cast<std::int64_t>(size);
  const auto first = evaluate(rest.substr(1, colon == std::string::npos ? colon : colon - 1), variables, place);
  const auto length = colon == std::string::npos ? std::optional<std::int64_t>(all)
                                                 : evaluate(rest.substr(colon + 1), variables, place);
  if (!first || !length) return std::nullopt;
  const std::int64_t begin = std::clamp<std::int64_t>(*first < 0 ? all + *first : *first, 0, all);
  const std::int64_t end = *length < 0 ? all + *length : std::min(all, begin + std::min(all, *length));
  return std::make_pair(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::max(begin, end) - begin));
}

std::optional<std::string> apply_operator(const std::string& value, const std::string& rest, Variables& variables,
                                          const Place& place) {
  if (rest.front() == ':') {
    const auto range = range_of(rest, value.size(), variables, place);
    return range ? std::optional<std::string>(value.substr(range->first, range->second)) : std::nullopt;
  }
  if (std::string("#%/^,").find(rest.front()) == std::string::npos) return std::nullopt;
  const std::string op = rest.substr(0, rest.size() > 1 && rest[1] == rest[0] ? 2 : 1);
  std::size_t slash = op.front() == '/' ? op.size() : rest.size();
  while (slash < rest.size() && rest[slash] != '/') slash = std::min(end_of_part(rest, slash), rest.size());
  const Word pattern = expand_to_one(rest.substr(op.size(), slash - op.size()), variables, place);
  const Word by = expand_to_one(slash < rest.size() ? rest.substr(slash + 1) : "", variables, place);
  if (!pattern.unknown.empty() || !by.unknown.empty()) return std::nullopt;
  // The work on a value grows with its square, and with its cube for "//a*b/x".
  const bool is_search = op.front() == '/' && pattern.text.find('*') != std::string::npos;
  if (is_search && value.size() > kLongestSearched) return std::nullopt;
  if (value.size() <= kLongestTransformed)
    variables.charge(value.size() * value.size() / 8 * (is_search ? value.size() : 1), place);
  return transformed(value, op, pattern.text, by.text);
}

std::vector<Word> words_of_braces(const std::string& raw, const Place& place) {
  std::vector<Word> words;
  if (raw.size() < 4 || raw.front() != '{' || raw.back() != '}') return words;
  const std::string inside = raw.substr(1, raw.size() - 2);
  if (inside.find_first_of("{}$\"'`\\ ") != std::string::npos) return words;
  const std::size_t dots = inside.find("..");
  if (dots != std::string::npos) {
    constexpr std::int64_t kMostWords = 1024;
    const std::string first = inside.substr(0, dots), last = inside.substr(dots + 2);
    if (!is_count(first, 6) || !is_count(last, 6) || std::stoll(last) - std::stoll(first) > kMostWords) return words;
    for (std::int64_t n = std::stoll(first); n <= std::stoll(last); ++n)
      words.push_back({std::to_string(n), "", place});
    return words;
  }
  if (inside.find(',') == std::string::npos) return words;
  words.push_back({"", "", place});
  for (const char c : inside)
    if (c == ',')
      words.push_back({"", "", place});
    else
      words.back().text += c;
  return words;
}

}  // namespace lockstep::sim::launch
