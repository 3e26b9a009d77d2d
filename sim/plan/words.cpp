#include "sim/plan/words.hpp"

#include <cmath>

#include "engine/base/text.hpp"

namespace lockstep::sim::plan {

std::string signed_percent_text(double fraction) {
  return percent(std::abs(fraction) < 5e-4 ? 0 : fraction, "%+.1f %%");
}

std::string money_text(double amount, const std::string& currency) {
  return (amount < 100 ? formatted("%.2f", amount) : with_thousands(amount)) + " " + currency;
}

std::string time_text(double seconds) {
  return duration_text(seconds, "%.1f min");
}

}  // namespace lockstep::sim::plan
