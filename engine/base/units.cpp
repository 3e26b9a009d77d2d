#include "engine/base/units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "engine/base/text.hpp"

namespace lockstep {
namespace {

/// SI value = number * times / per. Both factors are whole, so "3 us" is exactly the double 3e-6 (3 * 1e-6 is not).
struct Unit {
  std::string name;
  double times;
  double per;
  bool is_alias = false;     ///< read, never written
  bool is_unlisted = false;  ///< left out of errors: units written out, and KB
};

const double kibi = 1024.0;

// ISO 4217 codes; $ and € are read as USD and EUR.
const std::vector<std::string>& currency_codes() {
  static const std::vector<std::string> codes{"USD", "EUR", "GBP", "CHF", "CNY", "JPY"};
  return codes;
}

const std::vector<std::pair<std::string, std::string>>& currency_signs() {
  static const std::vector<std::pair<std::string, std::string>> signs{{"$", "USD"}, {"\u20ac", "EUR"}};
  return signs;
}

// Puts every currency before each unit of `per`: USD/h. Adds thousands and millions of plain amounts: kUSD, MUSD.
std::vector<Unit> of_currencies(const std::vector<Unit>& per) {
  std::vector<Unit> list;
  for (const std::string& code : currency_codes())
    for (const Unit& unit : per) {
      list.push_back({code + unit.name, unit.times, unit.per, unit.is_alias});
      if (!unit.name.empty()) continue;
      list.push_back({"k" + code, 1e3, 1});
      list.push_back({"M" + code, 1e6, 1});
    }
  for (const auto& sign : currency_signs())
    for (const Unit& unit : per) list.push_back({sign.first + unit.name, unit.times, unit.per, true});
  return list;
}

const std::vector<Unit>& units(Dimension dimension) {
  static const std::vector<Unit> time = {{"ns", 1, 1e9},
                                         {"us", 1, 1e6},
                                         {"ms", 1, 1e3},
                                         {"s", 1, 1},
                                         {"min", 60, 1},
                                         {"h", 3600, 1},
                                         {"hour", 3600, 1, true, true},
                                         {"hours", 3600, 1, true, true},
                                         {"d", 86400, 1, true},
                                         {"day", 86400, 1, true, true},
                                         {"days", 86400, 1, true, true},
                                         {"w", 604800, 1, true},
                                         {"week", 604800, 1, true, true},
                                         {"weeks", 604800, 1, true, true}};
  static const std::vector<Unit> size = {{"B", 1, 1},
                                         {"kB", 1e3, 1},
                                         {"KB", 1e3, 1, true, true},
                                         {"MB", 1e6, 1},
                                         {"GB", 1e9, 1},
                                         {"TB", 1e12, 1},
                                         {"KiB", kibi, 1},
                                         {"MiB", kibi * kibi, 1},
                                         {"GiB", kibi * kibi * kibi, 1},
                                         {"TiB", kibi * kibi * kibi * kibi, 1}};
  static const std::vector<Unit> bandwidth = [] {
    std::vector<Unit> list;
    for (const Unit& unit : size) list.push_back({unit.name + "/s", unit.times, 1, unit.is_alias, unit.is_unlisted});
    const std::vector<Unit> bits = {
        {"bit/s", 1, 8}, {"kbit/s", 1e3, 8}, {"Mbit/s", 1e6, 8}, {"Gbit/s", 1e9, 8}, {"Tbit/s", 1e12, 8}};
    list.insert(list.end(), bits.begin(), bits.end());
    for (const Unit& unit : bits) {
      const std::string prefix = unit.name.substr(0, unit.name.size() - std::string("bit/s").size());
      list.push_back({prefix + "b/s", unit.times, unit.per, true});
      list.push_back({prefix + "bps", unit.times, unit.per, true});
    }
    return list;
  }();
  static const std::vector<Unit> compute = {{"FLOP/s", 1, 1},    {"kFLOP/s", 1e3, 1},  {"MFLOP/s", 1e6, 1},
                                            {"GFLOP/s", 1e9, 1}, {"TFLOP/s", 1e12, 1}, {"PFLOP/s", 1e15, 1}};
  static const std::vector<Unit> rate = {{"1/s", 1, 1}, {"images/s", 1, 1}, {"samples/s", 1, 1}};
  static const std::vector<Unit> money = of_currencies({{"", 1, 1}});
  static const std::vector<Unit> price = of_currencies({{"/h", 1, 3600}, {"/s", 1, 1}});
  static const std::vector<Unit> power = {{"W", 1, 1}, {"kW", 1e3, 1}, {"MW", 1e6, 1}};
  static const std::vector<Unit> tariff = of_currencies({{"/kWh", 1, 3.6e6}, {"/MWh", 1, 3.6e9}, {"/J", 1, 1}});
  switch (dimension) {
    case Dimension::time:
      return time;
    case Dimension::size:
      return size;
    case Dimension::bandwidth:
      return bandwidth;
    case Dimension::compute:
      return compute;
    case Dimension::money:
      return money;
    case Dimension::price:
      return price;
    case Dimension::power:
      return power;
    case Dimension::tariff:
      return tariff;
    case Dimension::rate:
      break;
  }
  return rate;
}

std::size_t skip_digits(const std::string& text, std::size_t from) {
  while (from < text.size() && text[from] >= '0' && text[from] <= '9') ++from;
  return from;
}

/// Length of the JSON number that `text` starts with; 0 if it starts with none.
std::size_t number_length(const std::string& text) {
  const std::size_t whole = !text.empty() && text[0] == '-' ? 1 : 0;
  std::size_t end = skip_digits(text, whole);
  if (end == whole || (text[whole] == '0' && end > whole + 1)) return 0;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = skip_digits(text, end + 1);
    if (fraction == end + 1) return 0;
    end = fraction;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? 1 : 0;
    const std::size_t exponent = skip_digits(text, end + 1 + sign);
    if (exponent > end + 1 + sign) end = exponent;
  }
  return end;
}

/// Rounds a positive value to three significant digits.
double rounded(double value) {
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(value)));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

std::string fixed(double value, int decimals) {
  char buffer[400];  // the longest double has 309 digits before the point
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals).ptr;
  return std::string(buffer, end);
}

/// Three significant digits in the largest of `names` (given from small to large) that leaves at least 1.
std::string format(double value, const std::string& si, Dimension dimension, const std::vector<std::string>& names) {
  if (value == 0 || !std::isfinite(value)) return short_number(value == 0 ? 0 : value) + ' ' + si;
  const double size = std::fabs(value);
  const Unit* chosen = nullptr;
  for (const std::string& name : names) {
    for (const Unit& unit : units(dimension)) {
      if (unit.name == name && (!chosen || rounded(size * unit.per / unit.times) >= 1)) chosen = &unit;
    }
  }
  const double shown = rounded(size * chosen->per / chosen->times);
  const bool counts = dimension == Dimension::size && chosen->times == 1 && shown == std::floor(shown);  // whole bytes
  const int digits = static_cast<int>(std::floor(std::log10(shown) + 1e-12));
  const int decimals = counts ? 0 : std::min(std::max(2 - digits, 0), 12);
  return (value < 0 ? "-" : "") + fixed(shown, decimals) + ' ' + chosen->name;
}

}  // namespace

std::string si_unit(Dimension dimension) {
  switch (dimension) {
    case Dimension::time:
      return "s";
    case Dimension::size:
      return "B";
    case Dimension::bandwidth:
      return "B/s";
    case Dimension::compute:
      return "FLOP/s";
    case Dimension::money:
      return "USD";
    case Dimension::price:
      return "USD/s";
    case Dimension::power:
      return "W";
    case Dimension::tariff:
      return "USD/J";
    case Dimension::rate:
      break;
  }
  return "1/s";
}

std::vector<std::string> unit_names(Dimension dimension) {
  std::vector<std::string> names;
  for (const Unit& unit : units(dimension))
    if (!unit.is_alias) names.push_back(unit.name);
  return names;
}

std::vector<std::string> unit_spellings(Dimension dimension) {
  std::vector<std::string> names;
  for (const Unit& unit : units(dimension)) names.push_back(unit.name);
  return names;
}

std::string currency_in(const std::string& quantity) {
  double value = 0;
  for (Dimension dimension : {Dimension::money, Dimension::price, Dimension::tariff}) {
    if (!parse_quantity_or_explain(quantity, dimension, value).empty()) continue;
    for (const std::string& code : currency_codes())
      if (quantity.find(code) != std::string::npos) return code;
    for (const auto& [sign, code] : currency_signs())
      if (quantity.find(sign) != std::string::npos) return code;
  }
  return "";
}

std::string parse_quantity_or_explain(const std::string& text, Dimension dimension, double& value) {
  const std::size_t length = number_length(text);
  if (length == 0) {
    return in_quotes(text) + " does not start with a number; allowed: a number and a unit, such as \"1 " +
           si_unit(dimension) + '"';
  }
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + length, number);  // ignores the locale
  std::string name = text.substr(length);
  if (!name.empty() && name[0] == ' ') name.erase(0, 1);
  std::vector<std::string> listed;
  for (const Unit& unit : units(dimension))
    if (!unit.is_unlisted) listed.push_back(unit.name);
  const std::string allowed = "; allowed: " + joined(listed);
  if (name.empty()) return "missing unit" + allowed;
  for (const Unit& unit : units(dimension)) {
    if (unit.name != name) continue;
    const double si = number * unit.times / unit.per;
    if (read.ec != std::errc() || !std::isfinite(si))
      return in_quotes(text) + " is too large or too small for a number";
    value = si;
    return "";
  }
  return "unit " + in_quotes(name) + " is unknown" + allowed;
}

std::string format_seconds(double seconds) {
  return format(seconds, "s", Dimension::time, {"ns", "us", "ms", "s", "min", "h"});
}

std::string format_bytes(double bytes) {
  return format(bytes, "B", Dimension::size, {"B", "kB", "MB", "GB", "TB"});
}

std::string format_bandwidth(double bytes_per_s) {
  return format(bytes_per_s, "B/s", Dimension::bandwidth, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
}

std::optional<double> parse_count(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string suffix(end, text.data() + text.size());
  const std::vector<std::pair<std::string, double>> factors{{"", 1},    {"k", 1e3}, {"K", 1e3}, {"M", 1e6},
                                                            {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
  for (const auto& [name, factor] : factors)
    if (error == std::errc() && suffix == name && value > 0 && std::isfinite(value * factor)) return value * factor;
  return std::nullopt;
}

std::string format_count(double count) {
  for (const auto& [unit, name] : std::vector<std::pair<double, const char*>>{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}})
    if (count >= unit) return formatted("%.4g", count / unit) + name;
  return formatted("%.4g", count);
}

}  // namespace lockstep
