#pragma once
// Quantities with units: "100 Gbit/s", "12 GB/s", "2 us", "25 MiB", "11.8 TFLOP/s". Inside the program all are in SI
// units: seconds, bytes, bytes per second, operations per second. Prefixes are decimal (k, M, G, T) or binary (Ki, Mi,
// Gi, Ti). A quantity is a number as in JSON, at most one blank, and a unit spelled exactly.
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

constexpr double kMebi = 1024 * 1024, kGibi = 1024 * kMebi;
constexpr double kDay_s = 86400;

enum class Dimension {
  time,       ///< s: ns, us, ms, s, min, h, d, w
  size,       ///< bytes: B, kB (also KB), MB, GB, TB, KiB, MiB, GiB, TiB
  bandwidth,  ///< bytes/s: B/s .. TB/s, KiB/s .. TiB/s, bit/s .. Tbit/s (b/s, bps)
  compute,    ///< floating-point operations per second (a multiply-add is 2): FLOP/s .. PFLOP/s
  rate,       ///< per second: 1/s, images/s, samples/s
  money,      ///< an amount: USD, kUSD, EUR, $, ...; currency_in() returns which
  price,      ///< money per second: USD/h, USD/s, EUR/h, $/h, ...
  power,      ///< watts: W, kW, MW
  tariff,     ///< money per joule: USD/kWh, USD/MWh, USD/J, EUR/kWh, ...
};

/// Name of the SI unit: "s", "B", "B/s", "FLOP/s", "1/s", "USD", "USD/s", "W", "USD/J".
std::string si_unit(Dimension dimension);
/// The preferred spellings of the units.
std::vector<std::string> unit_names(Dimension dimension);
/// All accepted spellings.
std::vector<std::string> unit_spellings(Dimension dimension);
/// The currency code of an amount, price or tariff: "2.5 $/h" -> "USD"; empty if the text is none of these.
std::string currency_in(const std::string& quantity);

/// Sets `value` and returns an empty text, or returns the reason why the text is no quantity.
std::string parse_quantity_or_explain(const std::string& text, Dimension dimension, double& value);

/// Readable forms for tables: 3.2 -> "3.20 s", 2e-6 -> "2.00 us"; 25e6 -> "25.0 MB"; 1.25e10 -> "12.5 GB/s".
std::string format_seconds(double seconds);
std::string format_bytes(double bytes);
std::string format_bandwidth(double bytes_per_s);

/// Reads a positive count as people write it: "300B", "1.5T", "2e9", "40M", "64k". Returns nothing for another text.
std::optional<double> parse_count(const std::string& text);
/// Writes four significant digits: 3e11 -> "300B", 7.24e9 -> "7.24B", 512 -> "512".
std::string format_count(double count);

}  // namespace lockstep
