// Operators on the value of a variable: "${NAME%.sh}", "${NAME//a/b}", "${NAME^^}".
#include <algorithm>
#include <cctype>
#include <cstdint>

#include "engine/base/json.hpp"
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
  const bool is_fixed = pattern.find_first_of("*[\\") == std::string::npos;  // all matches are as long as the pattern
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

// "${NAME/#a/b}" and "${NAME/%a/b}".
std::string replaced_end(const std::string& value, const std::string& pattern, const std::string& by, bool is_front) {
  for (std::size_t length = value.size() + 1; length-- > 0;) {
    const std::string part = is_front ? value.substr(0, length) : value.substr(value.size() - length);
    if (!matches_pattern(part, pattern)) continue;
    return is_front ? by + value.substr(length) : value.substr(0, value.size() - length) + by;
  }
  return value;
}

std::optional<std::string> transformed(const std::string& value, const std::string& op, const std::string& pattern,
                                       const std::string& replacement) {
  if (!is_known_pattern(pattern) || value.size() > kLongestTransformed) return std::nullopt;
  if (op.front() == '#' || op.front() == '%') return removed(value, op, pattern);
  if (op == "/#" || op == "/%") return replaced_end(value, pattern, replacement, op == "/#");
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
  const bool has_anchor = rest.compare(0, 2, "/#") == 0 || rest.compare(0, 2, "/%") == 0;
  const std::string op = rest.substr(0, has_anchor || (rest.size() > 1 && rest[1] == rest[0]) ? 2 : 1);
  std::size_t slash = op.front() == '/' ? op.size() : rest.size();
  while (slash < rest.size() && rest[slash] != '/') slash = std::min(end_of_part(rest, slash), rest.size());
  const Word pattern = expand_pattern(rest.substr(op.size(), slash - op.size()), variables, place, false);
  const Word by = expand_to_one(slash < rest.size() ? rest.substr(slash + 1) : "", variables, place);
  if (!pattern.unknown.empty() || !by.unknown.empty()) return std::nullopt;
  // The work on a value grows with its square, and with its cube for "//a*b/x".
  const bool is_search = op.front() == '/' && pattern.text.find_first_of("*[\\") != std::string::npos;
  if (is_search && value.size() > kLongestSearched) return std::nullopt;
  if (value.size() <= kLongestTransformed)
    variables.charge(value.size() * value.size() / 8 * (is_search ? value.size() : 1), place);
  return transformed(value, op, pattern.text, by.text);
}

namespace {

constexpr std::int64_t kMostWords = 1024;

[[noreturn]] void refuse_braces(const Place& place) {
  throw InputError(place.text() + ": braces that give more than 1,024 words; simplify the script");
}

std::optional<std::int64_t> whole_of(const std::string& text) {
  const bool is_negative = text.compare(0, 1, "-") == 0;
  const std::string digits = text.substr(is_negative ? 1 : 0);
  if (!is_count(digits)) return std::nullopt;
  return is_negative ? -std::stoll(digits) : std::stoll(digits);
}

// The words of "1..4", "04..1..3", "a..c"; empty: it is no range.
std::vector<std::string> words_of_range(const std::string& inside, const Place& place) {
  std::vector<std::string> bounds;
  std::size_t begin = 0;
  for (std::size_t dots = inside.find(".."); dots != std::string::npos; dots = inside.find("..", begin)) {
    bounds.push_back(inside.substr(begin, dots - begin));
    begin = dots + 2;
  }
  bounds.push_back(inside.substr(begin));
  if (bounds.size() < 2 || bounds.size() > 3) return {};
  const bool are_letters = bounds[0].size() == 1 && bounds[1].size() == 1 && !is_digit(bounds[0][0]) &&
                           !is_digit(bounds[1][0]) && is_name_character(bounds[0][0]) &&
                           is_name_character(bounds[1][0]);
  const auto first = are_letters ? std::optional<std::int64_t>(bounds[0][0]) : whole_of(bounds[0]);
  const auto last = are_letters ? std::optional<std::int64_t>(bounds[1][0]) : whole_of(bounds[1]);
  const auto given = bounds.size() == 3 ? whole_of(bounds[2]) : std::optional<std::int64_t>(1);
  if (!first || !last || !given) return {};
  const std::int64_t step = std::max<std::int64_t>(1, std::abs(*given));
  if (std::abs(*last - *first) / step >= kMostWords) refuse_braces(place);
  const auto has_zeros = [](const std::string& bound) {
    const std::size_t digit = bound.find_first_not_of('-');
    return bound.size() > digit + 1 && bound[digit] == '0';
  };
  const bool is_padded = !are_letters && (has_zeros(bounds[0]) || has_zeros(bounds[1]));
  const std::size_t width = is_padded ? std::max(bounds[0].size(), bounds[1].size()) : 0;
  std::vector<std::string> words;
  for (std::int64_t i = 0; i <= std::abs(*last - *first); i += step) {
    const std::int64_t n = *first + (*last < *first ? -i : i);
    std::string digits = std::to_string(std::abs(n));
    const std::size_t sign = n < 0 ? 1 : 0;
    if (digits.size() + sign < width) digits.insert(0, width - sign - digits.size(), '0');
    words.push_back(are_letters ? std::string(1, static_cast<char>(n)) : (n < 0 ? "-" : "") + digits);
  }
  return words;
}

// The alternatives of the braces at `open`, and the index behind them; none: they are no alternatives.
std::optional<std::pair<std::vector<std::string>, std::size_t>> alternatives_at(const std::string& raw,
                                                                                std::size_t open, const Place& place) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = open; i < raw.size();) {
    const char c = raw[i];
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth == 0 || (depth == 1 && c == ',')) {
      parts.push_back(raw.substr(begin, i - begin));
      begin = i + 1;
    }
    if (depth == 0) {
      if (parts.size() == 1) parts = words_of_range(parts.front(), place);
      if (parts.empty()) return std::nullopt;
      return std::make_pair(parts, i + 1);
    }
    i = c == '{' || c == '}' ? i + 1 : std::min(end_of_part(raw, i), raw.size());
  }
  return std::nullopt;
}

void add_words_of_braces(const std::string& raw, Variables& variables, const Place& place,
                         std::vector<std::string>& words) {
  for (std::size_t i = 0; i < raw.size(); i = std::min(end_of_part(raw, i), raw.size())) {
    if (raw[i] != '{') continue;
    variables.charge(raw.size(), place);
    const auto found = alternatives_at(raw, i, place);
    if (!found) continue;
    for (const std::string& part : found->first)
      add_words_of_braces(raw.substr(0, i) + part + raw.substr(found->second), variables, place, words);
    return;
  }
  words.push_back(raw);
  if (words.size() > kMostWords) refuse_braces(place);
}

}  // namespace

std::vector<std::string> words_of_braces(const std::string& raw, Variables& variables, const Place& place) {
  constexpr std::size_t kLongest = 1024;
  if (raw.size() > kLongest || raw.find('{') == std::string::npos) return {raw};
  std::vector<std::string> words;
  add_words_of_braces(raw, variables, place, words);
  return words;
}

}  // namespace lockstep::sim::launch
