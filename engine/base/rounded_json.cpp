#include "engine/base/rounded_json.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace lockstep {
namespace {

constexpr int kSignificantDigits = 12;

double rounded_number(double value) {
  constexpr double kExact = 1LL << 53;  // integers below it are exact
  if (!std::isfinite(value) || (value == std::trunc(value) && std::abs(value) < kExact)) return value;
  std::array<char, 32> digits{};  // sign, 12 digits, point, exponent of at most 5 characters
  const std::to_chars_result text = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                                  std::chars_format::scientific, kSignificantDigits - 1);
  std::from_chars(digits.data(), text.ptr, value);
  return value;
}

void round_numbers(Json& value) {
  if (value.is_number_float())
    value = rounded_number(value.get<double>());
  else if (value.is_structured())
    for (Json& element : value) round_numbers(element);
}

}  // namespace

Json rounded(Json answer) {
  round_numbers(answer);
  return answer;
}

}  // namespace lockstep
