#include "engine/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <sstream>

#include <sstream>
#include "engine/base/edit_distance.hpp"
#include "engine/base/format_printf.hpp"
#include "engine/base/units.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLongestQuote = 80;

std::string escaped(unsigned char c) {
  static const char digits[] = "0123456789abcdef";
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return std::string("\\x") + digits[c / 16] + digits[c % 16];
  }
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}  // UTF-8

}  // namespace

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      line += escaped(byte);
    } else {
      line += c;
    }
  }
  return line;
}

std::string in_quotes(const std::string& text) {
  if (text.size() <= kLongestQuote) return '"' + one_line(text) + '"';
  std::size_t cut = kLongestQuote;
  while (cut > 0 && continues_character(text[cut])) --cut;
  return '"' + one_line(text.substr(0, cut)) + "...\"";
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t";
  const std::size_t from = text.find_first_not_of(kBlanks), to = text.find_last_not_of(kBlanks);
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

std::string percent(double fraction, const char* format) {
  return formatted(format, 100 * fraction);
}

std::string short_percent(double fraction) {
  return short_number(std::round(1000 * fraction) / 10) + " %";
}

std::string format_printf(const char* pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string text(static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, pattern, arguments))), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(arguments);
  va_end(again);
  return text;
}

std::string formatted(const char* pattern, double value) {
  return format_printf(pattern, value);
}

std::string with_thousands(double value) {
  std::string digits = formatted("%.0f", value);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string rate_text(double per_s) {
  return per_s < 10 ? formatted("%.3g", per_s) : with_thousands(per_s);
}

std::string iteration_time_text(double seconds) {
  if (seconds < 1) return formatted("%.1f ms", seconds * 1e3);
  if (seconds < 10) return formatted("%.3f s", seconds);
  return formatted(seconds < 100 ? "%.2f s" : "%.1f s", seconds);
}

std::string gpus_text(std::int64_t gpus) {
  return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

std::string duration_text(double seconds) {
  return duration_text(seconds, "%.2f min");
}

std::string duration_text(double seconds, const char* minutes) {
  if (seconds < 1) return format_seconds(seconds);
  if (seconds < 120) return formatted("%.1f s", seconds);
  if (seconds < 7200) return formatted(minutes, seconds / 60);
  return seconds < 172800 ? formatted("%.2f h", seconds / 3600) : formatted("%.2f d", seconds / 86400);
}

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

std::vector<std::string> nearest_names(const std::string& text, const std::vector<std::string>& names,
                                       std::size_t count) {
  const std::string wanted = lower_case(text);
  std::vector<std::pair<std::size_t, std::size_t>> by_distance;  // distance, index
  for (std::size_t i = 0; i < names.size(); ++i)
    by_distance.emplace_back(edit_distance(wanted, lower_case(names[i])), i);
  std::sort(by_distance.begin(), by_distance.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(count, names.size()); ++i) nearest.push_back(names[by_distance[i].second]);
  return nearest;
}

std::string short_number(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 6).ptr;
  return std::string(buffer, end);
}

std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  std::istringstream stream(line + ",");
  while (std::getline(stream, cell, ',')) {
    const std::size_t from = cell.find_first_not_of(" \t\r\""), to = cell.find_last_not_of(" \t\r\"");
    cells.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
  }
  return cells;
}

}  // namespace lockstep
