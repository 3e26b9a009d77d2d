#pragma once
// Text for messages. Every message is one line, whatever the input contains, and numbers ignore the user's locale.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// Control characters become escapes ("\n" -> "\\n", 0x01 -> "\\x01"), so that the result is one line.
std::string one_line(const std::string& text);
/// The text in double quotes, on one line, cut to 80 bytes (at a character's border, marked by "...").
std::string in_quotes(const std::string& text);
/// Latin letters in lower case, whatever the locale.
std::string lower_case(std::string text);
/// Whether `c` is 0 to 9.
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// 0.1234 -> "12.3 %"; `format` is printf's, of one double.
std::string percent(double fraction, const char* format = "%.1f %%");
/// 0.05 -> "5 %", 0.1234 -> "12.3 %"
std::string short_percent(double fraction);
/// Writes one number with a pattern of printf.
std::string formatted(const char* pattern, double value);
/// Rounds to a whole number and puts commas between thousands: "1,281,167".
std::string with_thousands(double value);
/// Writes a rate per second with commas; below 10 with three significant digits: "1,737", "0.247".
std::string rate_text(double per_s);
/// The time of an iteration: "294.7 ms"; from one second on, seconds with four digits: "9.876 s", "10.97 s".
std::string iteration_time_text(double seconds);
/// "1 GPU", "64 GPUs"
std::string gpus_text(std::int64_t gpus);
/// Uses seconds up to two minutes, minutes up to two hours, hours up to two days, then days. Below a second it is
/// format_seconds().
std::string duration_text(double seconds);
/// Same, but `minutes` is the printf pattern for minutes.
std::string duration_text(double seconds, const char* minutes);
/// Splits a line of CSV into cells, and removes blanks and quotes around each.
std::vector<std::string> csv_cells(const std::string& line);
/// Removes blanks and tabs at both ends.
std::string trimmed(const std::string& text);
/// "a, b, c"
std::string joined(const std::vector<std::string>& words);
/// The `count` names with the smallest Levenshtein distance from `text`, ignoring case. The nearest come first; equally
/// near ones keep their order.
std::vector<std::string> nearest_names(const std::string& text, const std::vector<std::string>& names,
                                       std::size_t count = 3);
/// Writes up to six significant digits, as printf's %.6g in the C locale: 65536 -> "65536", 1.25e10 -> "1.25e+10".
std::string short_number(double value);

}  // namespace lockstep
