#include "sim/job_prediction/job_price.hpp"

#include <cmath>

#include "engine/base/any_format.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::sim::job_prediction {
namespace {

const char* const kDollarSign = "$";
const char* const kEuroSign = "\u20ac";
const char* const kUsualCurrency = "USD";

// Completes "2.5/h" to "2.5 USD/h".
std::string with_currency(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::size_t number_end = text.find_last_of("0123456789.", slash);
  if (slash == std::string::npos || number_end == std::string::npos) return text;
  const bool has_none = trimmed(text.substr(number_end + 1, slash - number_end - 1)).empty();
  return has_none ? text.substr(0, number_end + 1) + " " + kUsualCurrency + text.substr(slash) : text;
}

}  // namespace

std::string money_text(const std::string& written) {
  const std::string text = trimmed(written);
  for (const std::string sign : {kDollarSign, kEuroSign}) {
    if (text.rfind(sign, 0) != 0) continue;
    const std::size_t end = text.find_first_not_of("0123456789.eE", sign.size());
    const std::string number = text.substr(sign.size(), end == std::string::npos ? end : end - sign.size());
    return number + " " + sign + (end == std::string::npos ? "" : text.substr(end));
  }
  return text;
}

std::string price_text(const std::string& written) {
  const std::string text = money_text(written);
  const bool is_amount = !text.empty() && text.find('/') == std::string::npos;
  return with_currency(is_amount ? text + "/h" : text);
}

std::string to_usd_per_hour(std::string& text, double least, double most) {
  const std::string price = price_text(text);
  double usd_per_s = 0;
  if (const std::string wrong = parse_quantity_or_explain(price, Dimension::price, usd_per_s); !wrong.empty())
    return wrong;
  if (currency_in(price) != kUsualCurrency)
    return in_quotes(text) + " is not in USD; allowed: USD, or plan job, which compares in any one currency";
  const double usd_per_h = usd_per_s * 3600;
  if (!(usd_per_h >= least && usd_per_h <= most))
    return "not a price from " + short_number(least) + " to " + short_number(most) + " USD/h";
  text = format_text::shortest(std::round(usd_per_h * 1e9) / 1e9);
  return "";
}

}  // namespace lockstep::sim::job_prediction
