#include "engine/base/units.hpp"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <string>

#include "tests/catch.hpp"

namespace lockstep {
namespace {

const Dimension kDimensions[] = {Dimension::time, Dimension::size, Dimension::bandwidth, Dimension::compute,
                                 Dimension::rate};

double parsed(const std::string& text, Dimension dimension) {
  double value = std::numeric_limits<double>::quiet_NaN();
  INFO(text);
  CHECK(parse_quantity_or_explain(text, dimension, value) == "");
  return value;
}

bool refused(const std::string& text, Dimension dimension) {
  double value = 42;
  const std::string why = parse_quantity_or_explain(text, dimension, value);
  CHECK((value == 42) != why.empty());  // a refused text does not change the value
  return !why.empty();
}

TEST_CASE("Units are the definitions of SI and IEC") {
  CHECK(parsed("1 min", Dimension::time) == 60);
  CHECK(parsed("1.5 h", Dimension::time) == 5400);
  CHECK(parsed("250 ms", Dimension::time) == 0.25);
  CHECK(parsed("1 kB", Dimension::size) == 1000);
  CHECK(parsed("1 KiB", Dimension::size) == 1024);
  CHECK(parsed("1 TiB", Dimension::size) == 1099511627776.0);
  CHECK(parsed("8 bit/s", Dimension::bandwidth) == 1);
  CHECK(parsed("100 Gbit/s", Dimension::bandwidth) == 1.25e10);
  CHECK(parsed("1 GiB/s", Dimension::bandwidth) == 1073741824);
  CHECK(parsed("1.5 PFLOP/s", Dimension::compute) == 1.5e15);
  CHECK(parsed("5 1/s", Dimension::rate) == 5);
  CHECK(parsed("1234.5 images/s", Dimension::rate) == 1234.5);
}

TEST_CASE("People write days, bits by a letter, kilobytes by a capital, and their own currency") {
  CHECK(parsed("1KB", Dimension::size) == 1000);
  CHECK(parsed("2 KB/s", Dimension::bandwidth) == 2000);
  CHECK(format_bytes(1000) == "1.00 kB");
  CHECK(parsed("3d", Dimension::time) == parsed("72 h", Dimension::time));
  for (const char* week : {"1w", "1 week", "1 weeks", "7d", "7 days", "168 hours"})
    CHECK(parsed(week, Dimension::time) == 604800);
  for (const char* text : {"400 Gb/s", "400 Gbps", "400Gbit/s", "0.4 Tb/s"})
    CHECK(parsed(text, Dimension::bandwidth) == Approx(50e9));
  CHECK(parsed("400 GB/s", Dimension::bandwidth) == 8 * parsed("400 Gb/s", Dimension::bandwidth));
  CHECK(refused("400 gbps", Dimension::bandwidth));
  for (const char* text : {"2.5 $/h", "2.5 USD/h", "2.5 EUR/h", "2.5\u20ac/h"}) {
    CHECK(parsed(text, Dimension::price) == 2.5 / 3600);
    CHECK(currency_in(text) == (std::string(text).find_first_of("$S") != std::string::npos ? "USD" : "EUR"));
  }
  CHECK(currency_in("3 kGBP") == "GBP");
  CHECK(currency_in("0.2 CHF/kWh") == "CHF");
  for (const char* none : {"3 s", "3 USD/min", "USD", ""}) CHECK(currency_in(none).empty());
}

TEST_CASE("A unit that is only read is never written") {
  for (Dimension dimension : kDimensions)
    for (const std::string& name : unit_names(dimension)) {
      const std::vector<std::string> all = unit_spellings(dimension);
      CHECK(std::count(all.begin(), all.end(), name) == 1);
      CHECK((name != "d" && name != "Gb/s" && name != "Gbps"));
    }
}

TEST_CASE("Small units give the double nearest to the decimal value") {
  CHECK(parsed("3 us", Dimension::time) == 3e-6);
  CHECK(parsed("7 ns", Dimension::time) == 7e-9);
  CHECK(parsed("1.7 us", Dimension::time) == 1.7e-6);
}

TEST_CASE("The blank before the unit is optional and the number is JSON's") {
  CHECK(parsed("12GB/s", Dimension::bandwidth) == parsed("12 GB/s", Dimension::bandwidth));
  CHECK(parsed("-2e-3 s", Dimension::time) == -2e-3);
  CHECK(parsed("1E+2s", Dimension::time) == 100);
  CHECK(parsed("0.5s", Dimension::time) == 0.5);
  for (const char* text : {"+1 s", ".5 s",  "5. s",  "01 s",       "1,5 s",   "0x10 s",  "1e s",    "1e+ s",
                           "- s",  "inf s", "nan s", "Infinity s", " 1 s",    "1 s ",    "1  s",    "1\ts",
                           "1",    "s",     "",      "1 s\n",      "1_000 s", "1e400 s", "1e-400 s"}) {
    INFO(text);
    CHECK(refused(text, Dimension::time));
  }
}

TEST_CASE("A unit of another dimension is refused") {
  for (const Dimension dimension : kDimensions) {
    for (const Dimension other : kDimensions) {
      for (const std::string& unit : unit_names(other)) {
        INFO(unit << " for " << si_unit(dimension));
        CHECK(refused("1 " + unit, dimension) == (dimension != other));
      }
    }
  }
}

TEST_CASE("The SI unit has the value one") {
  for (const Dimension dimension : kDimensions) CHECK(parsed("3.25 " + si_unit(dimension), dimension) == 3.25);
}

struct DecimalComma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

/// For C functions this applies only if the German locale is installed; for C++ streams everywhere.
TEST_CASE("Numbers are read and shown the same in a locale with a decimal comma") {
  const std::string c_locale = std::setlocale(LC_ALL, nullptr);
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  const double value = parsed("1.5 s", Dimension::time);
  const bool comma_refused = refused("1,5 s", Dimension::time);
  const std::string shown = format_seconds(1.5);
  std::locale::global(before);
  std::setlocale(LC_ALL, c_locale.c_str());
  CHECK(value == 1.5);
  CHECK(comma_refused);
  CHECK(shown == "1.50 s");
}

TEST_CASE("Readable forms have three significant digits in the fitting unit") {
  CHECK(format_seconds(3.2) == "3.20 s");
  CHECK(format_seconds(2e-6) == "2.00 us");
  CHECK(format_seconds(0.0125) == "12.5 ms");
  CHECK(format_seconds(7e-9) == "7.00 ns");
  CHECK(format_seconds(1e-12) == "0.00100 ns");
  CHECK(format_seconds(90) == "1.50 min");
  CHECK(format_seconds(7200) == "2.00 h");
  CHECK(format_seconds(3.6e7) == "10000 h");
  CHECK(format_seconds(-0.5) == "-500 ms");
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(std::numeric_limits<double>::infinity()) == "inf s");
  CHECK(format_bytes(25e6) == "25.0 MB");
  CHECK(format_bytes(5) == "5 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(102.4e6) == "102 MB");
  CHECK(format_bytes(1e15) == "1000 TB");
  CHECK(format_bandwidth(1.25e10) == "12.5 GB/s");
  CHECK(format_bandwidth(0.5) == "0.500 B/s");
}

TEST_CASE("A value that rounds up to the next unit is shown in it") {
  CHECK(format_seconds(0.99951) == "1.00 s");
  CHECK(format_seconds(0.99949) == "999 ms");
  CHECK(format_seconds(59.96) == "60.0 s");
  CHECK(format_bytes(999999) == "1.00 MB");
  CHECK(format_seconds(9.996e-6) == "10.0 us");
}

TEST_CASE("What is formatted parses back to within the three digits") {
  for (double value = 1.234e-9; value < 1e14; value *= 1.37) {
    INFO(value);
    CHECK(parsed(format_seconds(value), Dimension::time) == Approx(value).epsilon(0.0051));
    CHECK(parsed(format_bandwidth(value), Dimension::bandwidth) == Approx(value).epsilon(0.0051));
    CHECK(parsed(format_bytes(value), Dimension::size) == Approx(value).epsilon(0.0051));
  }
}

}  // namespace
}  // namespace lockstep
