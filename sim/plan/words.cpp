#include "sim/plan/words.hpp"

#include <cmath>
#include <cstdio>

namespace lockstep::sim {
inline namespace plan {
namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

}  // namespace

std::string percent_text(double fraction) {
  return format("%.1f %%", 100 * fraction);
}

std::string signed_percent_text(double fraction) {
  const double percent = std::abs(fraction) < 5e-4 ? 0 : 100 * fraction;
  return format("%+.1f %%", percent);
}

std::string money_text(double amount, const std::string& currency) {
  return (amount < 100 ? format("%.2f", amount) : count_text(amount)) + " " + currency;
}

std::string time_text(double seconds) {
  if (seconds < 120) return format("%.1f s", seconds);
  if (seconds < 7200) return format("%.1f min", seconds / 60);
  return seconds < 172800 ? format("%.2f h", seconds / 3600) : format("%.2f d", seconds / 86400);
}

std::string count_text(double number) {
  std::string digits = format("%.0f", number);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

}  // namespace plan
}  // namespace lockstep::sim
