#pragma once
// std::from_chars() and std::to_chars() of double, which Emscripten's C++ library lacks: libc++ has the first from
// version 20 on, the second from 14 on. Included before every file of the page's build. As in the C++ standard:
// shortest text, no locale, no leading "+" or blank.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
namespace std {

inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const auto skip_digits = [last](const char* at) {
    while (at != last && *at >= '0' && *at <= '9') ++at;
    return at;
  };
  const char* const digits = first != last && *first == '-' ? first + 1 : first;
  const char* end = skip_digits(digits);
  auto count = end - digits;
  if (end != last && *end == '.') {
    const char* const fraction = end + 1;
    end = skip_digits(fraction);
    count += end - fraction;
  }
  if (count == 0) return {first, errc::invalid_argument};
  if (end != last && (*end == 'e' || *end == 'E')) {
    const char* exponent = end + 1;
    if (exponent != last && (*exponent == '-' || *exponent == '+')) ++exponent;
    const char* const after = skip_digits(exponent);
    if (after != exponent) end = after;
  }
  const string text(first, end);
  const double read = strtod(text.c_str(), nullptr);
  const bool has_digit = text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != string::npos;
  if (read - read != 0 || (read == 0 && has_digit)) return {end, errc::result_out_of_range};
  value = read;
  return {end, errc()};
}

}  // namespace std
#endif

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 14000
namespace std {

inline to_chars_result copy_chars(char* first, char* last, const string& text) {
  if (static_cast<size_t>(last - first) < text.size()) return {last, errc::value_too_large};
  return {first + text.copy(first, text.size()), errc()};
}

inline to_chars_result to_chars(char* first, char* last, double value, chars_format format, int precision) {
  char text[400];
  const char* const pattern = format == chars_format::fixed     ? "%.*f"
                              : format == chars_format::general ? "%.*g"
                                                                : "%.*e";
  snprintf(text, sizeof text, pattern, precision, value);
  return copy_chars(first, last, text);
}

/// The fewest digits that read back as the value. Uses the shorter notation; if both are equally long, fixed.
inline to_chars_result to_chars(char* first, char* last, double value) {
  char scientific[40];
  for (int digits = 0; digits < 17; ++digits) {
    snprintf(scientific, sizeof scientific, "%.*e", digits, value);
    if (strtod(scientific, nullptr) == value || value != value) break;
  }
  const string text(scientific);
  const size_t at = text.find('e');
  if (at == string::npos) return copy_chars(first, last, text);  // inf, nan
  const int exponent = atoi(text.c_str() + at + 1);
  const int decimals = static_cast<int>(at > 1 + (value < 0) ? at - 2 - (text[0] == '-') : 0) - exponent;
  char fixed[400];
  snprintf(fixed, sizeof fixed, "%.*f", decimals > 0 ? decimals : 0, value);
  return copy_chars(first, last, string(fixed).size() <= text.size() ? string(fixed) : text);
}

}  // namespace std
#endif
